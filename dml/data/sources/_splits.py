"""Roles of images whose dataset is divided into train, test, val, query or gallery."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dml.counting import counted
from dml.data import DataError
from dml.data.raw.walking import named
from dml.data.splits import ROLES

NAMES = {
    "train": "train",
    "training": "train",
    "test": "test",
    "testing": "test",
    "val": "validation",
    "valid": "validation",
    "validation": "validation",
    "query": "query",
    "gallery": "gallery",
}
"""What a split is called, in lower case -> what it is."""


class Roles(NamedTuple):
    """The role of each image, and what to tell the user about them."""

    roles: np.ndarray  # str (n,): train, seen, test, query, gallery or unused
    text: str


def kind_of(name: str) -> str | None:
    """What a split of this name is: train, test, validation, query or gallery; None if it is no split."""
    return NAMES.get(name.lower())


def by_part(index: pd.DataFrame, tests: np.ndarray) -> np.ndarray:
    """Roles if only images of the part `train` train, and only others, of classes that `tests` (n,), test."""
    train = index["part"].to_numpy() == "train"
    return np.select([~tests & train, ~tests, ~train], ["train", "seen", "test"], "unused")


def roles_of(parts: np.ndarray, classes: np.ndarray, names: np.ndarray, where: str) -> Roles:
    """The roles that follow from splits and classes. `parts` str (n,), `classes` int (n,), `names` str (n,)."""
    kinds = np.array([kind_of(part) or part for part in parts.tolist()])
    present = set(kinds.tolist())
    unknown = present - {*NAMES.values(), "seen", "unused"}
    if unknown or "train" not in present:
        problem = f"unknown {', '.join(sorted(unknown))}" if unknown else "no train"
        raise DataError(f"{where}: splits: {problem}; found {', '.join(sorted(present))}. Names: {', '.join(NAMES)}")
    if ("query" in present) != ("gallery" in present):
        raise DataError(f"{where}: query and gallery go together: found only {', '.join(sorted(present))}")
    train = set(classes[kinds == "train"].tolist())
    roles = np.where(kinds == "train", "train", "unused").astype("U10")
    lines = [f"{counted(len(train), 'class')} train{'s' * (len(train) == 1)}"]
    for kind in [kind for kind in ("seen", "test", "query", "gallery", "validation") if kind in present]:
        mask = kinds == kind
        inside = np.isin(classes, list(train))
        label = " and ".join(dict.fromkeys(parts[mask].tolist()))
        if inside[mask].any() and not inside[mask].all():
            raise DataError(
                f"{where}: some classes of {label} train and others do not: {_few(names[mask & inside])} are in train "
                f"too, {_few(names[mask & ~inside])} are not. For scores of new classes, remove the first from one of "
                f"the two; for scores of the classes that train, remove the others from {label}"
            )
        same = bool(inside[mask].all())
        if kind == "seen" and not same:
            raise DataError(f"{where}: no class of {label} trains: {_few(names[mask])}. Those of seen must")
        if kind in ("query", "gallery") and same:
            raise DataError(f"{where}: the classes of {label} train: {_few(names[mask])}. Those of queries must not")
        if kind == "validation" and ((roles == "seen").any() if same else {"test", "query"} & present):
            lines.append(f"{label} is not used (tuning validates on half of the training classes)")
            continue
        roles[mask] = "seen" if same else "test" if kind == "validation" else kind
        count = len(np.unique(classes[mask]))
        if same:
            lines.append(f"{label} has {count} of these classes: its scores are `seen`, not `test`")
        else:
            lines.append(f"{label} has {counted(count, 'other class')}: its scores are `test`")
    return Roles(roles, f"{where}: {'; '.join(lines)}")


def roles_of_splits(images: pd.DataFrame, disjoint: str, where: str) -> Roles:
    """`roles_of` images whose column `part` names their split, with a slash: `train/`. Raises as it does."""
    classes = _labels(images, disjoint, where)
    names = images[f"{disjoint}_name"].to_numpy().astype(str)
    return roles_of(np.array([part.rstrip("/") for part in images["part"]]), classes, names, where)


def roles_of_users(images: pd.DataFrame, disjoint: str, test_share: float, where: str) -> np.ndarray:
    """The roles of a user's images: as the column `part` says, or what follows from splits in it, else by classes."""
    parts = images["part"].to_numpy().astype(str)
    if np.isin(parts, ROLES).all():
        return parts
    if np.char.endswith(parts, "/").all():
        return roles_of_splits(images, disjoint, where).roles
    return by_classes(_labels(images, disjoint, where), test_share)


def splits_text(records: Iterable[Mapping[str, Any]], disjoint: str, where: str) -> str:
    """What to tell the user of a source's splits; "" if there are none. Raises as `roles_of`."""
    images = pd.DataFrame([{name: r[name] for name in r if name != "image"} for r in records])
    splits = "part" in images and images["part"].str.endswith("/").all()
    return roles_of_splits(images, disjoint, where).text if splits else ""


def by_classes(labels: np.ndarray, test_share: float) -> np.ndarray:
    """`train` for the first classes and `test` for the last ones, in the order of their numbers. `labels` int (n,)."""
    classes = np.unique(labels)
    train = classes[: len(classes) - round(test_share * len(classes))]
    return np.where(np.isin(labels, train), "train", "test")


def _labels(images: pd.DataFrame, level: str, where: str) -> np.ndarray:
    if level not in images or (images[level] < 0).any():
        raise DataError(f"{where}: disjoint={level!r}, but there are no {level} labels")
    return images[level].to_numpy()


def _few(names: Iterable[str]) -> str:
    distinct = sorted({str(name) for name in names})
    return f"{len(distinct)} ({named(distinct, 3)})"
