"""Signing in over HTTP: the authentication of requests, the sign-in page, the cookies, and sign-in at other providers."""
