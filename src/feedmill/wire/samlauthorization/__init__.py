"""SAML 2.0 authorization decision queries over SOAP, several in one envelope, and their responses."""
