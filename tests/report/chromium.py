"""Headless Chromium by its DevTools protocol over two pipes: real keys and real downloads. It needs no package."""

import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe"),
    "--allow-file-access-from-files",  # to look into pages in frames
]
CODES = {"ArrowLeft": 37, "ArrowRight": 39, "Backspace": 8, "Delete": 46, "Enter": 13, "Tab": 9, "Escape": 27}
SECONDS = 300


class Tab:
    """One page. Calls return what the protocol answers; events are kept in `events`."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read, self._rest = write, read, b""
        self._number, self._session = 0, ""
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the protocol."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        return self._until(lambda got: got.get("id") == self._number)

    def attach(self) -> None:
        """Open a page and speak to it from now on."""
        target = self.call("Target.createTarget", url="about:blank")["result"]["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["result"]["sessionId"]
        for domain in ("Page", "Runtime"):
            self.call(f"{domain}.enable")

    def open(self, address: str) -> None:
        """Open an address and wait until it is loaded."""
        self._loading("Page.navigate", url=address)

    def reload(self) -> None:
        """Load the page again."""
        self._loading("Page.reload")

    def run(self, script: str) -> Any:
        """The value of an expression; promises are awaited."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)["result"]
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def keys(self, *keys: str) -> None:
        """Press keys, as `KeyboardEvent.key` names them."""
        for key in keys:
            text = "\r" if key == "Enter" else key if len(key) == 1 else ""
            code = CODES.get(key, ord(key.upper()) if len(key) == 1 else 0)
            pressed = {"key": key, "windowsVirtualKeyCode": code, "text": text, "unmodifiedText": text}
            self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **pressed)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def size(self, width: int, height: int = 900) -> None:
        """Give the window another size."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)

    def scheme(self, name: str) -> None:
        """Prefer `light` or `dark`."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def errors(self) -> list[str]:
        """Uncaught errors of the page's scripts since it was opened."""
        thrown = [event for event in self.events if event["method"] == "Runtime.exceptionThrown"]
        return [str(event["params"]["exceptionDetails"]) for event in thrown]

    def wait(self, event: str) -> dict[str, Any]:
        """The next event of a name, or one that came already and was not waited for."""
        for place, got in enumerate(self.events):
            if got["method"] == event:
                return self.events.pop(place)
        return self._until(lambda got: got.get("method") == event)

    def _loading(self, method: str, **params: Any) -> None:
        self.events = [event for event in self.events if event["method"] != "Page.loadEventFired"]
        self.call(method, **params)
        self.wait("Page.loadEventFired")

    def _until(self, wanted: Any) -> dict[str, Any]:
        end = time.monotonic() + SECONDS
        while True:
            while b"\0" not in self._rest:
                ready, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
                assert ready, "Chromium does not answer"
                part = os.read(self._read, 1 << 20)
                assert part, "Chromium has ended"
                self._rest += part
            message, self._rest = self._rest.split(b"\0", 1)
            got = json.loads(message)
            assert "error" not in got, got
            if wanted(got):
                return got
            if "method" in got:
                self.events.append(got)


@contextmanager
def tab(folder: Path) -> Iterator[Tab]:
    """A page in a new Chromium, whose profile and downloads are below a folder."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("no chromium here")
    read_there, write_here = os.pipe()
    read_here, write_there = os.pipe()
    script = f'exec "$@" 3<&{read_there} 4>&{write_there}'
    command = [
        "bash",
        "-c",
        script,
        "chromium",
        chromium,
        *FLAGS,
        f"--user-data-dir={folder / 'profile'}",
        "about:blank",
    ]
    with open(folder / "chromium.log", "wb") as log:
        process = subprocess.Popen(command, pass_fds=(read_there, write_there), stdout=log, stderr=log)
    os.close(read_there)
    os.close(write_there)
    found = Tab(write_here, read_here)
    try:
        found.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder), eventsEnabled=True)
        found.attach()
        yield found
    finally:
        process.kill()
        process.wait()
        os.close(write_here)
        os.close(read_here)
