"""An empty implementation of notes about items in flight, for programs without a data folder of their own."""


class NoInFlight:
    """Implements ``ports.InFlight`` and stores nothing."""

    def find_left(self) -> str | None:
        """Returns None."""
        return None

    def begin(self, key: str) -> None:
        """Notes nothing."""

    def end(self) -> None:
        """Notes nothing."""
