"""A browser as a process: starts it by the launcher, and ends it."""

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Final

from feedmill.adapters.crawling.rendering.devtools import DevTools
from feedmill.adapters.sandbox.environment import bare_environment
from feedmill.model.errors import UpstreamFailure

START_SECONDS: Final = 60.0
END_SECONDS: Final = 10.0

_FEATURES_OFF: Final = (
    "AutofillServerCommunication,BackForwardCache,CertificateTransparencyComponentUpdater,DialMediaRouteProvider,InterestFeedContentSuggestions,"
    "InitialWebUI,IsolateOrigins,MediaRouter,OptimizationHints,PaintHolding,Prerender2,SpareRendererForSitePerProcess,Translate,WebUIOmniboxAimPopup,WebUIOmniboxPopup,site-per-process"
)
_FLAGS: Final = (
    "--headless",
    "--remote-debugging-pipe",
    "--user-data-dir=/tmp/profile",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--no-service-autorun",
    "--no-proxy-server",
    "--block-new-web-contents",
    "--deny-permission-prompts",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-client-side-phishing-detection",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-notifications",
    "--disable-remote-fonts",
    "--disable-search-engine-choice-screen",
    "--disable-site-isolation-trials",
    "--disable-software-rasterizer",
    "--disable-speech-api",
    "--disable-sync",
    "--disk-cache-size=1",
    f"--disable-features={_FEATURES_OFF}",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    # there is no network; names are not even looked up
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--js-flags=--max-old-space-size=512",
    "--metrics-recording-only",
    "--mute-audio",
    "--password-store=basic",
    "--renderer-process-limit=1",
    "--window-size=1280,2000",
)


class Browser:
    """A running browser; it belongs to the event loop in which it was started."""

    def __init__(self, process: "subprocess.Popen[bytes]", tools: DevTools) -> None:
        self._process = process
        self.tools = tools
        self.pages = 0
        self.started_at = time.monotonic()

    @classmethod
    async def start(cls, program: str, user_agent: str, max_message_bytes: int, memory_bytes: int) -> "Browser":
        """Starts a browser in its sandbox. Errors: UpstreamFailure."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        try:
            process = _launch([program, *_FLAGS, f"--user-agent={user_agent}", "about:blank"], theirs, memory_bytes)
        except OSError as exc:
            ours.close()
            raise UpstreamFailure(f"the browser cannot be started: {exc}") from exc
        finally:
            theirs.close()
        browser = cls(process, await DevTools.open(ours, max_message_bytes))
        try:
            await browser.tools.call("Browser.getVersion", seconds=START_SECONDS)
        except BaseException:
            await browser.end()
            raise
        return browser

    async def end(self) -> None:
        """Ends the browser with all its processes."""
        self.tools.close()
        await asyncio.to_thread(_wait_for, self._process)


def _wait_for(process: "subprocess.Popen[bytes]") -> None:
    """Waits for a launcher, which ends because its socket is closed."""
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        # the kernel ends all that it started with it
        process.kill()
        process.wait()


def _launch(command: Sequence[str], theirs: socket.socket, memory_bytes: int) -> "subprocess.Popen[bytes]":
    module = "feedmill.adapters.crawling.rendering.launcher"
    arguments = [sys.executable, "-m", module, str(theirs.fileno()), str(os.getpid()), str(memory_bytes), *command]
    return subprocess.Popen(
        arguments,
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=bare_environment(),
        start_new_session=True,
    )
