"""Who asks: passwords, sessions, tokens, local users."""
