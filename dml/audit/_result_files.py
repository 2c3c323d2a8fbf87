"""What an audit saves: a JSON file of plain values, and beside it tables as Parquet, whose digests it contains."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dml import files

VERSION = 1  # of the files
AGAIN = "run the audit again"
BROKEN = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile)
"""What reading a broken `.npz` raises."""


def write(folder: Path, kind: str, content: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> None:
    """Write `<kind>.json` and a Parquet file for each table. The JSON file comes last: without it nothing is saved."""
    digests = {}
    for name, table in tables.items():
        with files.replacing(folder / f"{name}.parquet") as temporary:
            table.to_parquet(temporary, index=False)
        digests[name] = files.sha256(folder / f"{name}.parquet")
    files.write_json(folder / f"{kind}.json", {**content, "saved": _mark(kind), "version": VERSION, "tables": digests})


def read(folder: Path, kind: str, tables: Sequence[str] = ()) -> tuple[dict[str, Any], dict[str, pd.DataFrame]]:
    """What `write` wrote.

    Raises
    ------
    ValueError : a file is missing, is not of this kind or version, or a table is not the one that was saved.
    """
    path = folder / f"{kind}.json"
    if not path.is_file():
        raise ValueError(f"{path}: there is no such file: no {kind} was saved here")
    content = files.read_json(path)
    if not isinstance(content, dict) or content.get("saved") != _mark(kind):
        raise ValueError(f"{path}: expected {_mark(kind)!r}, but the file is broken or of something else: {AGAIN}")
    if content.get("version") != VERSION:
        raise ValueError(f"{path}: expected version {VERSION}, got {content.get('version')!r}: {AGAIN}")
    found = {}
    for name in tables:
        place = folder / f"{name}.parquet"
        if not place.is_file():
            raise ValueError(f"{place}: the file is missing, which {path.name} names: {AGAIN}")
        if files.sha256(place) != content.get("tables", {}).get(name):
            raise ValueError(f"{place}: the file is not the one that {path.name} was saved with: {AGAIN}")
        found[name] = pd.read_parquet(place)
    return content, found


def labels(values: Any) -> np.ndarray:
    """Labels as an audit has them: int64 (n,) or strings (n,)."""
    array = np.asarray(values)
    return array.astype(np.int64) if array.dtype.kind in "iu" else array.astype(str)


def _mark(kind: str) -> str:
    return f"{kind} of dml.audit"
