"""Signs users and programs in: passwords, sessions, tokens, local users."""
