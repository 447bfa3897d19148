"""Asking other servers who may see the documents of which neither an ACL nor a policy says anything."""
