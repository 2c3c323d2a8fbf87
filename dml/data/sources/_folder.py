"""A folder as `load_dataset` of Hugging Face's library `datasets` reads it: which files, and which it would leave out.

The library reads files of one kind, and if the name of any file or folder says `train`, `test`, `val`, `dev`, `eval`,
..., only those whose names do.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from dml.counting import counted
from dml.data import DataError
from dml.data.raw import files_below, image_files, is_hidden, is_image
from dml.data.raw.images import named

SAVED = ("dataset_dict.json", "state.json")  # one of these files is in a folder that `save_to_disk` wrote
TABLES = (".parquet", ".csv", ".tsv", ".jsonl", ".ndjson", ".arrow")
INFORMATION = (*SAVED, "README.md", "dataset_info.json", "dataset_infos.json", "config.json")  # that are no data


@dataclass(frozen=True)
class Contents:
    """The files of a folder."""

    place: Path
    splits: Mapping[str, list[Path]]  # the files that are read
    lost: list[Path]  # files of the same kind that are not
    chosen: bool  # the folder's README says which files are read
    data_files: Mapping[str, list[str]] | None  # the library is told which, as it would read those that systems leave

    @property
    def images(self) -> int:
        """The number of images that are read, none of tables."""
        return sum(is_image(path) for paths in self.splits.values() for path in paths)


def is_saved(place: Path) -> bool:
    """Whether `save_to_disk` wrote a folder."""
    return any((place / name).is_file() for name in SAVED)


def contents(place: Path, config: str | None) -> Contents:
    """What `load_dataset` reads of a folder. Raises as the library."""
    import datasets

    place = place.resolve()
    with tempfile.TemporaryDirectory() as cache:
        found = datasets.load_dataset_builder(str(place), name=config, cache_dir=cache).config.data_files or {}
    read_by_it = {str(name): [Path(str(path)) for path in paths] for name, paths in found.items()}
    splits = {name: [p for p in paths if not _is_hidden(p, place)] for name, paths in read_by_it.items()}
    read = {path for paths in splits.values() for path in paths}
    endings = {path.suffix.lower() for path in read}
    of_images = any(is_image(path) for path in read)
    lost = [
        path
        for path in files_below(place)
        if path not in read
        and path.name not in INFORMATION
        and (is_image(path) if of_images else path.suffix.lower() in (*TABLES, *endings))
    ]
    cards = (place / name for name in ("README.md", ".huggingface.yaml"))
    chosen = any(card.is_file() and re.search("^configs:", card.read_text(errors="replace"), re.M) for card in cards)
    told = {name: list(map(str, paths)) for name, paths in splits.items()}
    return Contents(place, splits, lost, chosen, None if splits == read_by_it else told)


def _is_hidden(path: Path, place: Path) -> bool:
    return path.is_relative_to(place) and any(map(is_hidden, path.relative_to(place).parts))


def left_out(found: Contents) -> str:
    """What to tell the user of files that are not read; "" if there are none."""
    texts = [_count(found)] if found.lost else []
    if found.images:
        read = {path.name for paths in found.splits.values() for path in paths}
        texts.append(image_files(found.place, {*read, *INFORMATION}).left_out)
    return ". ".join(filter(None, texts))


def check_whole(found: Contents, where: str) -> None:
    """Raise a DataError if files would be left out."""
    if found.lost:
        raise DataError(
            f"{where}: {_count(found)}. The library `datasets` reads files of one kind, and if names of files or "
            "folders say train, test, val, dev, eval, ..., only those. Rename or move files; or read only these with "
            f"`settings: {{splits: [{', '.join(found.splits)}]}}`; or read images with the source imagefolder"
        )


def check_rows(found: Contents, rows: int, where: str) -> None:
    """Raise a DataError if `metadata.csv` has no row for some images."""
    if rows < found.images:
        raise DataError(
            f"{where}: {found.images - rows} of {found.images} images would be left out, which no row of metadata names"
        )


def check_saved(place: Path, splits: Collection[str], where: str) -> None:
    """Raise a DataError if datasets are saved below a folder that are not among the splits of its own."""
    read = {place, *(place / name for name in splits)}
    if lost := [path.parent for path in files_below(place) if path.name == "state.json" and path.parent not in read]:
        names = named(path.relative_to(place).as_posix() for path in lost)
        raise DataError(
            f"{where}: {counted(len(lost), 'saved dataset')} below it would be left out: {names}. Its splits are "
            f"{', '.join(splits) or 'none'}: move the others, or save all as one `DatasetDict`"
        )


def _count(found: Contents) -> str:
    read = sum(map(len, found.splits.values()))
    splits = ", ".join(f"{name}: {len(paths):,}" for name, paths in found.splits.items())
    files = named(path.relative_to(found.place).as_posix() for path in found.lost)
    total = read + len(found.lost)
    return f"{len(found.lost):,} of {counted(total, 'file')} are left out (read are {splits}): {files}"
