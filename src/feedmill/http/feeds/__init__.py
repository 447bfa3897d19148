"""The feed port."""
