"""Where shards are: a folder, or a URI of pyarrow's file systems."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dml.data import DataError

PART = 1 << 22  # bytes read at once


def opened(storage: str) -> tuple[Any, str]:
    """The pyarrow file system and the path in it of a folder or URI.

    Raises
    ------
    DataError : the URI cannot be used.
    """
    from pyarrow import fs

    if "://" not in storage:
        return fs.LocalFileSystem(), str(Path(storage).resolve())
    try:
        return fs.FileSystem.from_uri(storage)
    except (OSError, ValueError) as error:  # pyarrow's errors are subclasses
        raise DataError(f"storage {storage!r}: {error}") from error


def read(storage: str, name: str) -> Iterator[bytes]:
    """The content of a file, in parts.

    Raises
    ------
    DataError : it is missing, or cannot be read.
    """
    system, root = opened(storage)
    try:
        with system.open_input_stream(f"{root}/{name}") as stream:
            while part := stream.read(PART):
                yield part
    except FileNotFoundError:
        raise DataError(f"shard {name} is missing in {storage}: write the shards again (run the pack stage)") from None
    except OSError as error:
        raise DataError(f"shard {name} in {storage} cannot be read: {error}") from error


def write(storage: str, name: str, parts: Iterator[bytes]) -> None:
    """Write a file: readers see all of it or nothing."""
    from pyarrow import fs

    system, root = opened(storage)
    system.create_dir(root, recursive=True)
    local = isinstance(system, fs.LocalFileSystem)
    place = f"{root}/.{name}.part" if local else f"{root}/{name}"  # an object appears when its stream is closed
    with system.open_output_stream(place) as stream:
        for part in parts:
            stream.write(part)
    if local:
        system.move(place, f"{root}/{name}")


def size_of(storage: str, name: str) -> int | None:
    """Bytes of a file; None if it is missing."""
    from pyarrow import fs

    system, root = opened(storage)
    info = system.get_file_info(f"{root}/{name}")
    return info.size if info.type == fs.FileType.File else None
