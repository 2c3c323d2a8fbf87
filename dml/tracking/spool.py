"""A queue of records on disk: no record is lost while the tracking server is down.

The file has one JSON line per record. A second file beside it contains the number of bytes already sent. A line that a
crash cut short is dropped: its trial is in the store, and the next run records it again.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from threading import Condition
from typing import Any

from dml.files import write_text


class Spool:
    """A queue of records that survives its process. One thread appends, another one sends.

    Parameters
    ----------
    path : the file. Unsent records of an earlier process are sent first.
    """

    def __init__(self, path: Path):
        self.path, self._mark = Path(path), Path(path).with_suffix(".sent")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._changed = Condition()
        content = self.path.read_bytes() if self.path.is_file() else b""
        whole = content[: content.rfind(b"\n") + 1]
        sent = min(self._read_mark(), len(whole))
        self._waiting: deque[tuple[dict[str, Any], int]] = deque()
        for line in whole[sent:].splitlines(keepends=True):
            self._waiting.append((json.loads(line), len(line)))
        self._file = open(self.path, "r+b" if content else "wb")  # noqa: SIM115
        self._file.truncate(len(whole))
        self._file.seek(len(whole))
        self._sent = sent

    def __len__(self) -> int:
        return len(self._waiting)

    def append(self, record: Mapping[str, Any]) -> None:
        """Add a record."""
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        with self._changed:
            self._file.write(line)
            self._file.flush()
            self._waiting.append((dict(record), len(line)))
            self._changed.notify_all()

    def peek(self, timeout: float) -> dict[str, Any] | None:
        """The oldest unsent record, or None if there is still none after `timeout` seconds."""
        with self._changed:
            if not self._waiting:
                self._changed.wait(timeout)
            return self._waiting[0][0] if self._waiting else None

    def sent(self) -> None:
        """Remove the oldest record, which was sent; truncate the file if it was the last one.

        A crash in between at worst makes the next process send records again.
        """
        with self._changed:
            self._sent += self._waiting.popleft()[1]
            reached = self._sent if self._waiting else 0
        write_text(self._mark, str(reached))  # without the lock, so that `append` does not wait for the disk
        with self._changed:
            if reached == 0 and not self._waiting:
                self._file.truncate(0)
                self._file.seek(0)
                self._sent = 0

    def close(self) -> None:
        """Close the file, and delete it if every record was sent."""
        self._file.close()
        if not self._waiting:
            self.path.unlink(missing_ok=True)
            self._mark.unlink(missing_ok=True)

    def _read_mark(self) -> int:
        try:
            return int(self._mark.read_text())
        except (FileNotFoundError, ValueError):
            return 0
