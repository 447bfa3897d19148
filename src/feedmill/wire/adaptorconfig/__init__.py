"""Reads the configuration of command line adaptors: a file of Java properties, and the keys that Google's library reads from it.

Source: googlegsa/library, ``Config``, ``CommandLineAdaptor``, ``CommandLineTransform``.
"""
