"""Signing in over HTTP: who asks, by whatever the request carries; the page, the cookies, the ways to other providers."""
