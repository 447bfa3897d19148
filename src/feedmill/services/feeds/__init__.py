"""Feeds on their way into the store: taken in, read, applied, answered for, and made of folders."""
