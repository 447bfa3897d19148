"""Sitemaps, by which sites list their URLs."""
