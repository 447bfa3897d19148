"""Documents: what a change does to a URL, which URLs may be documents, what is shown of one."""
