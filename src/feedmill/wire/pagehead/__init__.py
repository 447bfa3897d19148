"""The instructions for crawlers in the head of an HTML page."""
