"""List a source's images: labels and sizes, from the files' headers, before anything is decoded."""

from __future__ import annotations

import struct
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from dml.counting import counted
from dml.data import DataError
from dml.data.packing.decoding import MISSING, CorruptImage, header
from dml.data.raw.walking import named
from dml.protocols import Source

Item = TypeVar("Item")
Done = TypeVar("Done")

CHUNK = 32  # items


def ordered(work: Callable[[Item], Done], items: Iterable[Item], workers: int) -> Iterator[Done]:
    """`map(work, items)` on threads: results in the order of the items, at most two chunks per worker in memory."""
    items = iter(items)
    waiting: deque[Future[list[Done]]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            while chunk := list(islice(items, CHUNK)):
                waiting.append(pool.submit(lambda some: [work(item) for item in some], chunk))
                if len(waiting) >= 2 * workers:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


class ProgressLine:
    """Reports a count at most every few seconds: `packing mnist: 12000 of 70000, 9000/s, 6 s left`."""

    def __init__(self, what: str, total: int | None, report: Callable[[str], None], every: float = 5.0) -> None:
        self.what, self.total, self.report, self.every = what, total, report, every
        self.started = self.reported = time.monotonic()

    def __call__(self, count: int) -> None:
        now = time.monotonic()
        if now - self.reported < self.every:
            return
        self.reported = now
        speed = count / max(now - self.started, 1e-9)
        line = f"{self.what}: {count}"
        if self.total:
            line += f" of {self.total}, {speed:.0f}/s, {max(self.total - count, 0) / max(speed, 1e-9):.0f} s left"
        self.report(line)


NUMBERS = {"fine": None, "coarse": -1, "camera": -1}  # column: value if a record has none
TEXTS = ("fine_name", "coarse_name", "path", "part")
COLUMNS = ("index", "fine", "coarse", "fine_name", "coarse_name", "path", "part", "camera", "height", "width")

OPTIONAL = {"given_fine": -1, "given_coarse": -1, "verified": True}
"""Columns that an index has only if some record differs from this value."""

MALFORMED = (LookupError, ValueError, TypeError, AttributeError, AssertionError, OverflowError, struct.error)


@dataclass(frozen=True)
class Listing:
    """The images of a source. Rows are in the source's order and include corrupt images."""

    index: pd.DataFrame  # COLUMNS, and some of OPTIONAL; height and width are 0 for corrupt images
    corrupt: dict[int, str]  # row -> reason
    grey: bool  # whether all images are grey


def corrupt_error(index: pd.DataFrame, corrupt: Mapping[int, str]) -> DataError:
    """An error that lists the first twenty corrupt images."""
    paths = index["path"].to_numpy()
    lines = [f"  {paths[row]}: {reason}" for row, reason in sorted(corrupt.items())[:20]]
    lines += [f"  and {len(corrupt) - 20} more"] if len(corrupt) > 20 else []
    return DataError(
        f"{len(corrupt)} of {len(index)} images are corrupt (on_corrupt='skip' leaves them out):\n" + "\n".join(lines)
    )


def list_images(source: Source, raw: Path, workers: int, report: Callable[[str], None]) -> Listing:
    """Read every record, and the header of every image. Raises DataError."""
    columns: dict[str, list[Any]] = {name: [] for name in (*COLUMNS, *OPTIONAL)}
    corrupt: dict[int, str] = {}
    grey = True
    progress = ProgressLine(f"listing {source.name}", None, report)
    for row, (fields, size) in enumerate(ordered(_describe, _records(source, raw), workers)):
        for name, value in fields.items():
            columns[name].append(value)
        if isinstance(size, str):
            corrupt[row], size = size, (0, 0, grey)
        columns["index"].append(row)
        columns["height"].append(size[0])
        columns["width"].append(size[1])
        grey &= size[2]
        progress(row + 1)
    if not columns["index"]:
        raise DataError(f"{source.name}: no images in {raw}")
    missing = [columns["path"][row] for row, reason in corrupt.items() if reason == MISSING]
    if missing and source.complete and getattr(source, "table", "") is not None:  # a folder names links by itself
        root = f". Paths are relative to root, which is {str(Path(source.root).resolve())!r}" if source.root else ""
        count = f"{len(missing)} of {len(columns['index'])} files are missing"
        raise DataError(f"{source.name}: {count}: {named(missing, 3)}{root}")
    columns = {k: v for k, v in columns.items() if k not in OPTIONAL or any(value != OPTIONAL[k] for value in v)}
    index = pd.DataFrame({name: _column(name, values, columns["path"]) for name, values in columns.items()})
    return Listing(index, corrupt, grey)


def lost_classes(index: pd.DataFrame, corrupt: Mapping[int, str]) -> str:
    """What to say of classes none of whose images can be decoded; "" if there are none."""
    lost = index[~index["fine"].isin(index["fine"].drop(index=list(corrupt)))]
    names = sorted({name or str(number) for name, number in zip(lost["fine_name"], lost["fine"], strict=True)})
    return f"{counted(len(names), 'class')} without an image that can be decoded: {named(names)}" if names else ""


def check_counts(source: Source, index: pd.DataFrame) -> None:
    """Raise a DataError unless each role has as many images and classes as `source.counts` states."""
    if not source.counts or not source.complete:
        return
    roles = source.roles(index)
    for role, numbers in source.counts.items():
        of_role = index if role == "all" else index[roles == role]
        for what, number in numbers.items():
            got = len(of_role) if what == "images" else of_role[what].nunique()
            if got != number:
                kind = what if what == "images" else f"{what} classes"
                raise DataError(
                    f"{source.name}: {role} has {got} {kind}, expected {number}: the raw files are incomplete or "
                    "belong to another dataset (the option complete=False accepts a part of the dataset)"
                )


def _records(source: Source, raw: Path) -> Iterator[Mapping[str, Any]]:
    """The source's records. Any error about malformed raw files becomes a DataError with the number of images read."""
    row = 0
    try:
        for record in source.images(raw):
            yield record
            row += 1
    except DataError:
        raise
    except MALFORMED as error:
        raise DataError(
            f"{source.name}: unexpected raw files in {raw}: after {row} images: {type(error).__name__}: {error}"
        ) from error


def fields_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """What each index says of an image that its file does not."""
    numbers = {name: record.get(name, default) for name, default in NUMBERS.items()}
    return {**numbers, **{name: record.get(name, "") for name in TEXTS}}


def _describe(record: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[int, int, bool] | str]:
    fields = {**fields_of(record), **{name: record.get(name, default) for name, default in OPTIONAL.items()}}
    try:
        return fields, header(record["image"])
    except CorruptImage as error:
        return fields, str(error)
    except AssertionError as error:
        raise DataError(
            f"{fields['path']}: expected uint8 (H, W) or (H, W, C) with C 1 or 3, got an array of {error}"
        ) from error


def _column(name: str, values: list[Any], paths: list[str]) -> Any:
    if name in TEXTS or name == "verified":
        return values
    lowest = -1 if -1 in (NUMBERS.get(name), OPTIONAL.get(name)) else 0
    for row, value in enumerate(values):
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < lowest:
            raise DataError(f"row {row} ({paths[row]}): {name} is {value!r}, expected an integer of at least {lowest}")
    return np.asarray(values, np.int64)
