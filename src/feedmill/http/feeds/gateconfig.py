"""The settings of the feed port, as its process started with them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from feedmill.core.urls.networks import LOOPBACK, Networks


@dataclass(frozen=True, slots=True, kw_only=True)
class GateConfig:
    """The feed port's settings. Units: bytes; ``idle_seconds`` is how long a client may pause within a body.

    ``profiles`` are the addresses that each profile of dataloads allows, by its name. ``searchable_seconds`` is how long the reply to an
    item of type UI waits at most for searches to find the earlier items; they are found later all the same.
    """

    trusted: Networks = LOOPBACK
    require_token: bool = False
    max_feed_bytes: int = 1_073_741_824
    max_inflation: int = 100
    server_header: str = "feedergate_1.0"
    allow_origins: tuple[str, ...] = ()
    idle_seconds: float = 20.0
    searchable_seconds: float = 30.0
    profiles: Mapping[str, Networks] = field(default_factory=dict)

    def may_load(self, address: str | None) -> bool:
        """Whether a dataload of this address is read: some profile allows it, or feeds of it are taken."""
        return self.trusted.covers(address) or any(allowed.covers(address) for allowed in self.profiles.values())


CurrentConfig = Callable[[], GateConfig]
"""Returns the settings of this process."""
