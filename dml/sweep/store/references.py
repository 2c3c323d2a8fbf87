"""Which trials of the store each study refers to: `store/sweeps/<study>.keys`, one key a line.

A sweep appends a key before its trial runs, or when it reuses its outcome. When the sweep ends, the file contains
exactly the keys of its results. So what no study refers to can be found without running any.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dml.files import write_text

SUFFIX = ".keys"
MODELS_SUFFIX = ".models"  # which of their models the study keeps and drops (`dml.sweep.retention.models`)


class References:
    """The keys of one study's trials.

    Parameters
    ----------
    store : the folder of trials.
    study : its name.
    """

    def __init__(self, store: Path, study: str):
        self._path = Path(store) / "sweeps" / f"{study}{SUFFIX}"
        self._known = _read(self._path)
        if self._path.is_file() and not self._path.read_bytes().endswith(b"\n"):
            self.replace(self._known)  # so that the next key begins a line

    def add(self, key: str) -> None:
        """Append a key, unless the file contains it."""
        if key not in self._known:
            self._known.add(key)
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(f"{key}\n")

    def replace(self, keys: Iterable[str]) -> None:
        """Make these the study's keys."""
        self._known = set(keys)
        write_text(self._path, "".join(f"{key}\n" for key in sorted(self._known)))


def known_keys(store: Path) -> dict[str, set[str]]:
    """The keys of each study that has a file."""
    return {path.name.removesuffix(SUFFIX): _read(path) for path in sorted((store / "sweeps").glob(f"*{SUFFIX}"))}


def _read(path: Path) -> set[str]:
    """The keys in a file. A last line that a crash cut short is ignored: its trial had not begun."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return set(text[: text.rfind("\n") + 1].split())
