"""Feedmill, the open search appliance: feeds in over the old wire, documents out of search."""

__version__ = "0.1.0"
