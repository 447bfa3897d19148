"""Implements the ports of signing in, one technology a file. Only the file of a technology imports its optional packages."""
