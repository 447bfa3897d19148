"""The settings of the feed port, as its process started with them."""

from collections.abc import Callable
from dataclasses import dataclass

from feedmill.core.urls.networks import LOOPBACK, Networks


@dataclass(frozen=True, slots=True, kw_only=True)
class GateConfig:
    """The feed port's settings. Units: bytes; ``idle_seconds`` is how long a client may pause within a body."""

    trusted: Networks = LOOPBACK
    require_token: bool = False
    max_feed_bytes: int = 1_073_741_824
    max_inflation: int = 100
    server_header: str = "feedergate_1.0"
    allow_origins: tuple[str, ...] = ()
    idle_seconds: float = 20.0


CurrentConfig = Callable[[], GateConfig]
"""Returns the settings of this process."""
