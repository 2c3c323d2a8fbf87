"""The hub of Hugging Face, asked once whether it answers: `datasets` would retry for half a minute in silence.

A folder as `load_dataset` of Hugging Face's library `datasets` reads it: which files, and which it would leave out.

The library reads files of one kind, and if the name of any file or folder says `train`, `test`, `val`, `dev`, `eval`,
..., only those whose names do.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dml import discovery
from dml.counting import counted
from dml.data import DataError
from dml.data.raw import files_below, image_files, is_hidden, is_image
from dml.data.raw.walking import named
from dml.data.sources._table import labels

SECONDS = 5.0  # to wait for an answer


def unreachable() -> str | None:
    """Why the hub does not answer; None if it does, or if the user set `HF_HUB_OFFLINE`."""
    from huggingface_hub import constants
    from huggingface_hub.utils import get_session

    if constants.HF_HUB_OFFLINE:
        return None
    try:
        get_session().head(constants.ENDPOINT, timeout=SECONDS)
    except Exception as error:  # of the library's client for HTTP, which differs between its versions
        return f"{constants.ENDPOINT} does not answer: {error or type(error).__name__}"
    return None


@contextmanager
def offline() -> Iterator[None]:
    """Inside the block, `datasets` uses only what it downloaded before."""
    import datasets
    from huggingface_hub import constants

    modules: list[Any] = [datasets.config, constants]
    before = [module.HF_HUB_OFFLINE for module in modules]
    for module in modules:
        module.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        for module, value in zip(modules, before, strict=True):
            module.HF_HUB_OFFLINE = value


NAMES = {
    "image": ("image", "img", "images", "picture", "photo", "jpg", "png", "bytes", "file", "path"),
    "label": ("label", "labels", "fine_label", "fine", "class", "target", "category", "species", "identity", "pid"),
}
"""Names by which a column is guessed, the likeliest first."""


@dataclass(frozen=True)
class Columns:
    """The names of columns, and what to tell the user of those that were guessed."""

    image: str
    label: str
    coarse: str | None
    guessed: tuple[str, ...]

    def undecoded(self, part: Any) -> Iterator[Any]:
        """The values of a split's images, as they are stored."""
        import datasets

        images = part.select_columns([self.image])
        if isinstance(part.features[self.image], datasets.Image):
            images = images.cast_column(self.image, datasets.Image(decode=False))
        return (row[self.image] for row in images)


def choose(features: Mapping[str, Any], wanted: Mapping[str, str | None], where: str) -> Columns:
    """The columns that a study names, else those whose type or name is that of images or labels.

    Parameters
    ----------
    features : the types of the columns by name.
    wanted : the options `image`, `label` and `coarse`.

    Raises
    ------
    DataError : there is no such column, or none can be guessed; the message lists the columns.
    """
    import datasets

    for option, column in wanted.items():
        if column is not None and column not in features:
            raise DataError(f"{where}: {option}: no column {column!r}{discovery.suggestion(column, features)}")
    kinds = {"image": datasets.Image, "label": datasets.ClassLabel}
    found, guessed = {}, []
    for option, kind in kinds.items():
        column = wanted[option]
        if column is None:
            free = [name for name in features if name not in wanted.values()]
            column = _guess(free, [name for name in free if isinstance(features[name], kind)], NAMES[option])
            if column is None:
                raise DataError(
                    f"{where}: which column contains the {option}s? Name it with `settings: {{{option}: ...}}`. "
                    f"Choices: {', '.join(features)}"
                )
            guessed.append(
                f"column {column!r} is taken for the {option}s (`settings: {{{option}: ...}}` names another)"
            )
        found[option] = column
    return Columns(found["image"], found["label"], wanted["coarse"], tuple(guessed))


def _guess(names: list[str], typed: list[str], known: tuple[str, ...]) -> str | None:
    """The only column of the type; else that with the likeliest name, of the type if there are some."""
    if len(typed) == 1:
        return typed[0]
    return next((name for name in known if name in (typed or names)), None)


def numbered(parts: Mapping[str, Any], column: str, where: str) -> tuple[list[int], list[str]]:
    """The labels of all splits as numbers and names.

    Raises
    ------
    DataError : a label is missing or not a number of at least 0; or a split has no such column.
    """
    import datasets

    values, rows, named, kinds = [], [], [], []
    for name, part in parts.items():
        if column not in part.features:
            raise DataError(f"{where}: {name}: no column {column!r}{discovery.suggestion(column, part.features)}")
        own = part.with_format(None)[column][:]
        if isinstance(kind := part.features[column], datasets.ClassLabel):
            unlabelled = [row for row, value in enumerate(own) if value is None or value < 0]
            if unlabelled:
                raise DataError(
                    f"{where}: {name}: row {unlabelled[0]}: {column} is missing, as in {len(unlabelled)} of "
                    f"{len(own)} rows: leave this split out with `settings: {{splits: [...]}}`"
                )
            named += [kind.int2str(int(value)) for value in own]
        values += own
        kinds.append(kind)
        rows += [f"{where}: {name}: row {row}" for row in range(len(own))]
    if all(isinstance(kind, datasets.ClassLabel) for kind in kinds):
        if all(kind.names == kinds[0].names for kind in kinds):
            return [int(value) for value in values], named
        return labels(named, column, rows)  # each split numbers its own classes: only names say which are the same
    if any(isinstance(kind, datasets.ClassLabel) for kind in kinds):
        raise DataError(f"{where}: column {column!r} has names of classes in some splits and others in the rest")
    return labels(values, column, rows)


def as_image(value: Any, root: Path, where: str) -> Path | bytes | np.ndarray:
    """A stored image as packing takes it: encoded bytes, a file, or an array.

    Parameters
    ----------
    value : `{bytes, path}`, bytes, a path relative to `root`, or nested lists of numbers from 0 to 255.

    Raises
    ------
    DataError : it is something else.
    """
    if isinstance(value, Mapping) and {"bytes", "path"} & set(value):
        value = value.get("bytes") or value.get("path")
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return root / value
    array = np.asarray(value) if isinstance(value, list | np.ndarray) else np.empty(0)
    if array.ndim not in (2, 3) or array.dtype.kind not in "iu" or array.min() < 0 or array.max() > 255:
        raise DataError(f"{where}: expected an image (encoded, a path, or numbers from 0 to 255), got {value!r:.80}")
    return array.astype(np.uint8)


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
