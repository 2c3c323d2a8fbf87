"""One file by HTTP: resumed with Range, tried again after an interruption, renamed when it is whole."""

from __future__ import annotations

import errno
import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dml.data import DataError
from dml.data._store import check_space, sync

BLOCK = 2**20
TIMEOUT = 30.0  # seconds without a byte
ATTEMPTS = 5
AGAIN = (408, 429)  # timed out, too many requests: beside the server's own errors, 500 and above, worth another attempt
EVERY = 5.0  # seconds between two lines of progress


class Unavailable(Exception):
    """This place does not give the file; another one may."""


def get(url: str, target: Path, report: Callable[[str], None], pause: float = 1.0) -> None:
    """Download `url` to `target` by way of `<target>.part`, which a later call goes on from.

    Parameters
    ----------
    pause : seconds before the second attempt; doubled before each further one.

    Raises
    ------
    Unavailable : no URL, refused, not found, no network, or interrupted five times. What came stays in the .part file.
    DataError : no space on the disk.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    for attempt in range(ATTEMPTS):
        try:
            _attempt(url, part, report)
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code not in AGAIN:
                raise Unavailable(f"HTTP {error.code} {error.reason}") from error
            problem: Exception = error
        except urllib.error.URLError as error:
            if not isinstance(error.reason, TimeoutError | ConnectionResetError):
                raise Unavailable(str(error.reason)) from error
            problem = error
        except (http.client.HTTPException, ConnectionError, _LongerThanTheFile) as error:
            problem = error
        except OSError as error:  # of the .part file
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise DataError(f"{part}: no space left on the disk; the {_size(part)} bytes that came are kept") from error
        else:
            sync(part)
            os.replace(part, target)
            return
        report(f"{url}: {problem}; going on from {_size(part)} bytes")
        if attempt + 1 < ATTEMPTS:
            time.sleep(pause * 2**attempt)
    raise Unavailable(f"{problem} ({ATTEMPTS} attempts; {_size(part)} bytes are kept in {part})")


class _LongerThanTheFile(Exception):
    """The .part is of another file."""


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _attempt(url: str, part: Path, report: Callable[[str], None]) -> None:
    have = _size(part)
    try:
        answer = _ask(url, have)
    except urllib.error.HTTPError as error:
        if error.code != 416:
            raise
        if have and error.headers.get("Content-Range", "").strip() == f"bytes */{have}":
            return  # nothing is left to ask for: an earlier call ended before it could rename the file
        part.unlink(missing_ok=True)
        raise _LongerThanTheFile(f"HTTP 416: the file has no {have} bytes, those of {part} are dropped") from error
    with answer:
        if have and (answer.status != 206 or not _continues(answer.headers.get("Content-Range", ""), have)):
            have = 0  # the server sends the file from its start
        length = answer.headers.get("Content-Length")
        total = have + int(length) if length and length.isdecimal() else None
        if total:
            check_space(part.parent, total - have, url)
        started = said = time.monotonic()
        first = have
        with open(part, "ab" if have else "wb") as file:
            for block in _blocks(answer):
                file.write(block)
                have += len(block)
                if time.monotonic() - said > EVERY:
                    said = time.monotonic()
                    report(_line(url, have, total, (have - first) / (said - started)))
    if total is not None and have < total:
        raise ConnectionError(f"the connection ended at {have} of {total} bytes")


def _ask(url: str, have: int) -> Any:
    """The server's answer, from byte `have` on if it can do that."""
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "dml"})
        if have:
            request.add_header("Range", f"bytes={have}-")
        with _of_the_connection():
            return urllib.request.urlopen(request, timeout=TIMEOUT)
    except (ValueError, http.client.InvalidURL) as error:
        raise Unavailable(f"not a URL that can be opened: {error}") from error


def _blocks(answer: Any) -> Iterator[bytes]:
    """What the connection has at hand, at most 1 MB at a time: none of it is lost when the next read fails."""
    while True:
        with _of_the_connection():
            block = answer.read1(BLOCK)
        if not block:
            return
        yield block


@contextmanager
def _of_the_connection() -> Iterator[None]:
    """Tells what goes wrong with the connection (no route, TLS, a timeout: OSErrors all) from errors of the disk."""
    try:
        yield
    except (urllib.error.URLError, ConnectionError):
        raise
    except OSError as error:
        raise ConnectionError(str(error)) from error


def _continues(content_range: str, have: int) -> bool:
    return content_range.replace("bytes ", "").partition("-")[0] == str(have)


def _line(url: str, have: int, total: int | None, speed: float) -> str:
    name, mega = url.rsplit("/", 1)[-1], 2**20
    if total is None:
        return f"{name}: {have / mega:.0f} MB, {speed / mega:.1f} MB/s"
    left = (total - have) / max(speed, 1)
    return f"{name}: {have / mega:.0f} of {total / mega:.0f} MB, {speed / mega:.1f} MB/s, {left:.0f} s left"
