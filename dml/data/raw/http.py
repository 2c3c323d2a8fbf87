"""Download one file over HTTP: resumes with a Range request, retries after interruptions, and renames at the end."""

from __future__ import annotations

import errno
import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dml import files
from dml.data import DataError
from dml.data.raw.space import check_space

BLOCK = 2**20  # bytes
TIMEOUT = 30.0  # seconds without a byte
ATTEMPTS = 5
RETRIED = (408, 429)  # timeout and too many requests; server errors (500 and above) are retried too
EVERY = 5.0  # seconds between two progress lines


class Unavailable(Exception):
    """This place does not provide the file; another one may."""


class _WrongPart(Exception):
    """The .part file belongs to another file."""


def get(url: str, target: Path, report: Callable[[str], None], pause: float = 1.0) -> None:
    """Download `url` to `target` through `<target>.part`, which a later call resumes.

    Parameters
    ----------
    pause : seconds before the second attempt. The pause doubles before each further attempt.

    Raises
    ------
    Unavailable : not a URL, refused, not found, no network, or interrupted five times. The .part file stays.
    DataError : no space left on the disk.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    for attempt in range(ATTEMPTS):
        try:
            _attempt(url, part, report)
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code not in RETRIED:
                raise Unavailable(f"HTTP {error.code} {error.reason}") from error
            problem: Exception = error
        except urllib.error.URLError as error:
            if not isinstance(error.reason, TimeoutError | ConnectionResetError):
                raise Unavailable(str(error.reason)) from error
            problem = error
        except (http.client.HTTPException, ConnectionError, _WrongPart) as error:
            problem = error
        except OSError as error:  # from writing the .part file
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise DataError(f"{part}: no space left on the disk; {_size(part)} downloaded bytes are kept") from error
        else:
            files.move(part, target)
            return
        report(f"{url}: {problem}; resuming from {_size(part)} bytes")
        if attempt + 1 < ATTEMPTS:
            time.sleep(pause * 2**attempt)
    raise Unavailable(f"{problem} ({ATTEMPTS} attempts; {_size(part)} bytes are kept in {part})")


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
            return  # the .part file is complete: an earlier call was stopped before it renamed the file
        part.unlink(missing_ok=True)
        raise _WrongPart(f"HTTP 416: the file is shorter than the {have} bytes in {part}, which are deleted") from error
    with answer:
        if have and (answer.status != 206 or not _continues(answer.headers.get("Content-Range", ""), have)):
            have = 0  # the server sends the whole file
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
                    report(_progress(url, have, total, (have - first) / (said - started)))
    if total is not None and have < total:
        raise ConnectionError(f"the connection ended at {have} of {total} bytes")


def _ask(url: str, have: int) -> Any:
    """The server's response, from byte `have` if the server supports ranges."""
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "dml"})
        if have:
            request.add_header("Range", f"bytes={have}-")
        with _connection_errors():
            return urllib.request.urlopen(request, timeout=TIMEOUT)
    except (ValueError, http.client.InvalidURL) as error:
        raise Unavailable(f"not a URL that can be opened: {error}") from error


def _blocks(answer: Any) -> Iterator[bytes]:
    """The bytes as they arrive, at most 1 MiB at a time, so that a failing read loses nothing."""
    while True:
        with _connection_errors():
            block = answer.read1(BLOCK)
        if not block:
            return
        yield block


@contextmanager
def _connection_errors() -> Iterator[None]:
    """Turn any OSError of the connection (no route, TLS, timeout) into a ConnectionError, unlike those of the disk."""
    try:
        yield
    except (urllib.error.URLError, ConnectionError):
        raise
    except OSError as error:
        raise ConnectionError(str(error)) from error


def _continues(content_range: str, have: int) -> bool:
    return content_range.replace("bytes ", "").partition("-")[0] == str(have)


def _progress(url: str, have: int, total: int | None, speed: float) -> str:
    name, mega = url.rsplit("/", 1)[-1], 2**20
    if total is None:
        return f"{name}: {have / mega:.0f} MB, {speed / mega:.1f} MB/s"
    left = (total - have) / max(speed, 1)
    return f"{name}: {have / mega:.0f} of {total / mega:.0f} MB, {speed / mega:.1f} MB/s, {left:.0f} s left"
