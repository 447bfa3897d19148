"""The command line: one command for each service call.

The help must be instant. So the module of a command imports at its top only what its signature needs, and each function imports what is
slow to load: the settings, the ports, and all layers above them.
"""
