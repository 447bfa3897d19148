"""Late binding: authorization servers decide about the documents that neither an ACL nor a policy decides."""
