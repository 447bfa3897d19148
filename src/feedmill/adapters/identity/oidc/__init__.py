"""OpenID Connect providers."""
