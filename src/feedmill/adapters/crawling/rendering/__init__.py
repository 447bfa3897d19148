"""Renders pages in a browser: it runs their scripts, and every request that they make is answered by the crawler or refused."""
