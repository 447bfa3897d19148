"""Reads and writes the pages of seedlists, by which IBM and HCL products list their documents for a search engine."""
