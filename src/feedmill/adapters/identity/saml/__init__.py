"""SAML 2.0 identity providers."""
