"""Reads untrusted XML: charset, prolog, elements, and the repair of common client faults."""
