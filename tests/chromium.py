"""A headless Chromium, driven over a pipe: what a page logs, what it shows, what a key does."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BINARY = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--hide-scrollbars", "--mute-audio", "--remote-debugging-pipe",
)  # fmt: skip


class Page:
    """One page; ``complaints`` are its console errors, exceptions, refused loads and requests that leave it."""

    def __init__(self, to: int, come: int) -> None:
        self._to, self._come = to, come
        self._number = 0
        self._rest = b""
        self._session = ""
        self.complaints: list[str] = []
        self.requests: list[str] = []
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(item["targetId"] for item in targets if item["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the DevTools protocol and wait for its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read(60)
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer)
                return answer["result"]

    def open(self, url: str, *, dark: bool = False, width: int = 1280, height: int = 900) -> None:
        """Open a page and wait until its script has drawn everything."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=url)
        self.wait(
            "document.documentElement?.dataset.ready === 'yes' || document.getElementById('failed')?.hidden === false"
        )

    def wait(self, expression: str, seconds: float = 40) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not self.run(f"Boolean({expression})"):
            assert time.monotonic() < end, (expression, self.complaints)
            select.select([], [], [], 0.05)

    def run(self, expression: str) -> Any:
        """The value of an expression; a promise is waited for."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def press(self, key: str) -> None:
        """Press a key and let it go."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38,
                 "ArrowRight": 39, "ArrowDown": 40}  # fmt: skip
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key], **text)
            text = {}

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """Write a screenshot."""
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))

    def _read(self, seconds: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._come], [], [], seconds)
            assert ready, "Chromium does not answer"
            self._rest += os.read(self._come, 1 << 20)
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, found: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.complaints.append(str(found["exceptionDetails"].get("exception", found["exceptionDetails"]))[:500])
        elif method == "Runtime.consoleAPICalled" and found["type"] in ("error", "warning", "assert"):
            self.complaints.append(f"{found['type']}: {found['args']}"[:500])
        elif method == "Log.entryAdded" and found["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"{found['entry']['text']} {found['entry'].get('url', '')}"[:500])
        elif method == "Network.requestWillBeSent":
            self.requests.append(found["request"]["url"][:200])


@contextlib.contextmanager
def chromium(profile: Path) -> Iterator[Page]:
    """A browser with a profile of its own, which ends with the block."""
    assert BINARY is not None
    come, their_out = os.pipe()
    their_in, to = os.pipe()

    def descriptors() -> None:
        # The protocol reads from 3 and writes to 4; copies first, for one of ours may be one of them.
        read, write = os.dup(their_in), os.dup(their_out)
        os.dup2(read, 3)
        os.dup2(write, 4)

    process = subprocess.Popen(
        [BINARY, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
        preexec_fn=descriptors,  # noqa: PLW1509 - no threads here
        close_fds=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(their_in)
    os.close(their_out)
    try:
        yield Page(to, come)
    finally:
        os.close(to)
        os.close(come)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
