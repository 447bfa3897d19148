"""No note of what is in flight, for what runs without a data folder of its own."""


class NoInFlight:
    """Fills ``ports.InFlight`` and keeps nothing."""

    def find_left(self) -> str | None:
        """Returns None."""
        return None

    def begin(self, key: str) -> None:
        """Notes nothing."""

    def end(self) -> None:
        """Notes nothing."""
