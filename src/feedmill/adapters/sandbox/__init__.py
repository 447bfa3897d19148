"""A sandbox for processes that read hostile input. It combines independent parts that the kernel offers."""
