"""The one HTTP client of the server: bounded in time and size, and careful about the addresses to which it connects."""
