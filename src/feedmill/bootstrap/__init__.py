"""Connects services with adapters: the only place that names concrete adapters.

``context`` opens what all processes of a data folder share. Each other module builds the services of one subject from it and imports only
the adapters of that subject, so a command or a role loads only what it needs.
"""
