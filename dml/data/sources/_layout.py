"""How folders of images are read: as classes, as groups of classes, or as splits of either."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from dml.data import DataError
from dml.data.raw import files_below, is_hidden, is_image
from dml.data.sources._splits import kind_of

LAYOUTS = ("auto", "splits", "classes", "groups")


def has_splits(root: Path) -> bool:
    """Whether the folders in `root` are named as splits, `train` and another one among them, and contain folders.

    Other folders do not count if no image is below them.
    """
    folders = subfolders(root) if root.is_dir() else []
    splits = [path for path in folders if kind_of(path.name)]
    if not _are_splits(path.name for path in splits) or not all(map(subfolders, splits)):
        return False
    return not any(_has_images(path) for path in folders if path not in splits)


def _has_images(folder: Path) -> bool:
    return any(map(is_image, files_below(folder)))


def subfolders(root: Path) -> list[Path]:
    """Folders in the order of names, without hidden ones."""
    return sorted(path for path in root.iterdir() if path.is_dir() and not is_hidden(path.name))


def below(folder: Path, levels: int) -> Path:
    """A relative folder without its first levels."""
    return Path(*folder.parts[levels:])


def check_paths(root: str, paths: Sequence[Path], layout: str, left_out: str = "") -> None:
    """Check that images are where a layout expects them.

    Parameters
    ----------
    paths : of the images, relative to `root`.
    layout : `auto` stands for `classes` or `groups`.
    left_out : what else is in the folder, for messages.

    Raises
    ------
    DataError : there are no images, or they are at other depths; a folder is no split; or some look like splits and
        others do not.
    """
    within = 1 if layout == "splits" else 0
    depths = {len(path.parts): path for path in paths}
    classes, groups = 2 + within, 3 + within
    allowed = {"classes": [classes], "groups": [groups]}.get(layout, [classes, groups])
    if len(depths) != 1 or not set(depths) <= set(allowed):
        shown = [path.as_posix() for path in list(depths.values())[:3]] + ["..."] * (len(depths) > 3)
        split = "<split>/" * within
        forms = {classes: f"{split}<class>/<image>", groups: f"{split}<coarse>/<fine>/<image>"}
        nothing = f"no images. {left_out}" if left_out else "no images"
        expected = " or ".join(forms[depth] for depth in allowed)
        raise DataError(
            f"imagefolder: {root}: expected {expected} throughout, found {', '.join(shown) or nothing}"
            f"{_both(paths) if layout == 'auto' else ''}"
        )
    folders = {path.parts[0] for path in paths}
    known = {name for name in folders if kind_of(name)}
    others = ", ".join(sorted(folders - known)[:3])
    if within and others:
        raise DataError(f"imagefolder: {root}: layout: splits, but {others} is not the name of a split")
    if layout == "auto" and _are_splits(known):
        kind, choice = ("classes", "classes") if classes in depths else ("groups of classes", "groups")
        problem = f"{others} does not" if others else "they contain images, not folders of classes"
        raise DataError(
            f"imagefolder: {root}: {', '.join(sorted(known))} look like splits, but {problem}. Expected "
            f"<split>/<class>/<image>; `settings: {{layout: {choice}}}` reads them as {kind}"
        )


def half_split(root: Path) -> str:
    """What to say of folders that could be splits but are read as groups of classes; "" if there are none."""
    folders = [path.name for path in subfolders(root) if subfolders(path)]
    splits = [name for name in folders if kind_of(name)]
    if not splits or _are_splits(splits):
        return ""
    trains = any(kind_of(name) == "train" for name in splits)
    missing = "no other folder is one" if trains else "no folder is called train"
    return f"{', '.join(splits)} could be {_plural(splits)}, but {missing}: all folders are read as groups of classes"


def _both(paths: Sequence[Path]) -> str:
    """The end of a message, if some images are below folders of splits and others are not."""
    names = {path.parts[0] for path in paths if len(path.parts) > 1}
    splits = sorted(name for name in names if kind_of(name))
    others = sorted(names - set(splits))
    if not splits or not others:
        return ""
    more = ", ..." if len(others) > 3 else ""
    return (
        f". {', '.join(splits)} could be {_plural(splits)}, {', '.join(others[:3])}{more} could not: keep one of the "
        "two layouts, train/<class>/ and test/<class>/, or <class>/"
    )


def _plural(splits: Sequence[str]) -> str:
    return "a split" if len(splits) == 1 else "splits"


def _are_splits(names: Iterable[str]) -> bool:
    """Whether `train` and another split are among names of folders."""
    kinds = {kind_of(name) for name in names} - {None}
    return "train" in kinds and len(kinds) > 1
