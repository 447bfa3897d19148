"""Wires services to adapters: the only place that names concrete adapters.

``context`` opens what every process of a data folder shares. Each other module builds the services of one subject out of it and imports
the adapters of that subject alone, so that a command or a role loads only what it works with.
"""
