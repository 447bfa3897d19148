"""Writes search results, one module for each format."""
