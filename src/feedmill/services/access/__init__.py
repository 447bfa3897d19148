"""Who may see what: classes, groups and policies in memory, the reference decision, what it was before, and explanations of all of it."""
