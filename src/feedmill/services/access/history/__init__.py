"""Who could see what, and when."""
