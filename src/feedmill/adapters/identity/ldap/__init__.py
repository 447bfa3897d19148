"""LDAP directories."""
