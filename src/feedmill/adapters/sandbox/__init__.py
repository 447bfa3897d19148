"""A sandbox for processes that read hostile input, made of what the kernel offers: each part by itself, all of them together."""
