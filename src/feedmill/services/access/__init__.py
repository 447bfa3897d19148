"""Decides who may see what: classes, groups and policies in memory, the reference decision, past decisions, and explanations of them."""
