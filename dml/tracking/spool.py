"""What is to be sent, on disk before anything is sent: a tracking server that is down costs no record.

One JSON line a record, and beside it the number of bytes already sent. A line that a crash cut short is dropped: its
trial is in the store, and the next run hands it in again.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from threading import Condition
from typing import Any


class Spool:
    """A queue of records that survives its process. One thread appends, another takes.

    Parameters
    ----------
    path : the file; records that an earlier process left unsent are taken first.
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
        """Keep a record."""
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        with self._changed:
            self._file.write(line)
            self._file.flush()
            self._waiting.append((dict(record), len(line)))
            self._changed.notify_all()

    def peek(self, timeout: float) -> dict[str, Any] | None:
        """The oldest unsent record, or None where none comes within `timeout` seconds."""
        with self._changed:
            if not self._waiting:
                self._changed.wait(timeout)
            return self._waiting[0][0] if self._waiting else None

    def sent(self) -> None:
        """The oldest record has arrived. A spool with nothing left to send is emptied."""
        with self._changed:
            self._sent += self._waiting.popleft()[1]
            if not self._waiting:
                self._file.truncate(0)
                self._file.seek(0)
                self._sent = 0
            temporary = self._mark.with_suffix(".part")
            temporary.write_text(str(self._sent))
            os.replace(temporary, self._mark)

    def close(self) -> None:
        """Close the file, and remove it where all is sent."""
        self._file.close()
        if not self._waiting:
            self.path.unlink(missing_ok=True)
            self._mark.unlink(missing_ok=True)

    def _read_mark(self) -> int:
        try:
            return int(self._mark.read_text())
        except (FileNotFoundError, ValueError):
            return 0
