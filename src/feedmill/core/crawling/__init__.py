"""The rules of the crawler: when a URL is due, how many requests a server gets, what robots.txt permits."""
