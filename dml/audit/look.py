"""The page of `dml look`: what is free, which labels look wrong, searches, confused classes, copies; in one file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dml import files, seeding
from dml.audit import Audit, page
from dml.audit.page import SCRIPTS, STYLES, breaks, chance, inline, rate
from dml.audit.pictures import Images, Suspect, album, nearest, suspects
from dml.report.page.blocks import rows
from dml.report.page.html import environment
from dml.training import free

SUSPECTS, SEARCHES, NEIGHBOURS, CONFUSED, PAIRS = 12, 5, 6, 12, 12
DUPLICATE = 0.999  # cosine, as of the audit
ALL = 50_000  # images up to which copies are looked for


def mark(place: Path) -> str:
    """What the head of a place's page contains, and no other page: a look at one never replaces a look at another."""
    digest = hashlib.sha256(str(place.resolve()).encode(errors="surrogateescape")).hexdigest()[:16]
    return f'<meta name="dml-look" content="{digest}">'


class Search(NamedTuple):
    """An image, and its nearest ones as they are and as chosen: (row, whether the class is the same)."""

    row: int
    before: list[tuple[int, bool]]
    after: list[tuple[int, bool]]


@dataclass(frozen=True)
class Seen:
    """All that a page shows."""

    place: Path
    names: Sequence[str]
    labels: np.ndarray  # (n,) texts; "": none
    sentence: str
    notes: Sequence[str]  # what the numbers leave out
    audit: Audit | None
    vectors: np.ndarray  # float32 (n, d), in which suspects and copies are compared
    searches: Sequence[Search]
    left_out: Sequence[str]
    commands: Sequence[tuple[str, str]]  # what for, and how long; the command
    chosen: str  # what searches after are, as words


def searches(features: Mapping[str, np.ndarray], codes: np.ndarray, best: free.Free, avoid: np.ndarray) -> list[Search]:
    """A few images with their nearest before and after; their classes take no part in fitting the projection."""
    draw = seeding.numpy_generator(0, "look/searches").permutation(len(codes))
    order = draw if avoid.all() else draw[~avoid[draw]]
    sizes = np.bincount(codes[codes >= 0], minlength=1)
    order = order[np.argsort(sizes[codes[order]] < 2, kind="stable")]
    classes = list(dict.fromkeys(codes[order].tolist()))
    rank = pd.Series(codes[order]).groupby(codes[order]).cumcount().to_numpy()
    # At most half of the classes are left out.
    few = np.isin(codes[order], classes[: max(1, min(SEARCHES, len(classes) // 2))])
    queries = order[few][np.argsort(rank[few], kind="stable")][:SEARCHES]
    first = free.embedded(plain(features), None, free.unit(next(iter(features.values()))))
    after, chosen = first, best.chosen
    if best.projection is not None:
        held_out = np.where(np.isin(codes, codes[queries]), -1, codes)
        others, given = held_out >= 0, free.unit(features[chosen.features])
        fitted = dict(free.candidates({chosen.features: given[others]}, held_out[others], None, chosen))
        after = free.embedded(chosen, fitted.get(chosen, best.projection), given)
    elif chosen != plain(features):
        after = best.embed(features)
    nearest_rows = [nearest(space, queries, NEIGHBOURS)[0] for space in (first, after)]

    def marked(query: int, near: np.ndarray) -> list[tuple[int, bool]]:
        return [(int(row), bool(codes[row] == codes[query] >= 0)) for row in near]

    return [Search(int(q), marked(q, nearest_rows[0][i]), marked(q, nearest_rows[1][i])) for i, q in enumerate(queries)]


def plain(features: Mapping[str, np.ndarray]) -> free.Candidate:
    """The first features as they are."""
    return free.Candidate(next(iter(features)), free.NO_PROJECTION, "one")


def copies(vectors: np.ndarray, labels: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of rows that look the same, each with its nearest one; those with different labels first."""
    if not 1 < len(vectors) <= ALL:
        return []
    near, cosine = nearest(vectors, np.arange(len(vectors)), 1)
    pairs = {tuple(sorted((int(row), int(near[row, 0])))) for row in np.flatnonzero(cosine[:, 0] >= DUPLICATE)}
    return sorted(((a, b) for a, b in pairs), key=lambda pair: (labels[pair[0]] == labels[pair[1]], pair))


def write(path: Path, seen: Seen, images: Images | None) -> None:
    """Write the page: one HTML file that needs nothing else, and sends nothing anywhere."""
    shown: list[Suspect] = []
    if seen.audit is not None:
        shown = suspects(seen.audit, seen.vectors, lambda row: seen.names[row], {})[:SUSPECTS]
    pairs = copies(seen.vectors, seen.labels)
    small = [near.row for suspect in shown for near in suspect.near]
    small += [row for one in seen.searches for row, _ in (*one.before, *one.after)]
    small += [row for pair in pairs[:PAIRS] for row in pair]
    medium = [suspect.row for suspect in shown] + [one.row for one in seen.searches]
    pictures = album(images, [], medium, small)
    confused = None if seen.audit is None else page.confusions(seen.audit)
    templates = environment("dml.audit.page")
    templates.filters |= {"rate": rate, "chance": chance, "breaks": breaks, "cells": rows}
    values: dict[str, Any] = {"seen": seen, "suspects": shown, "pairs": pairs[:PAIRS], "copies": len(pairs)}
    values |= {"title": seen.place.resolve().name, "mark": mark(seen.place), "plain": images is None}
    values["contradictions"] = sum(seen.labels[a] != seen.labels[b] for a, b in pairs)
    values["suspected"] = 0 if seen.audit is None else int(seen.audit.suspects().sum())
    values["confused"] = confused and replace(confused, title="", frame=confused.frame.head(CONFUSED))
    template = templates.get_template("look.html")
    files.write_text(path, template.render(**values, album=pictures, css=inline(STYLES), js=inline(SCRIPTS[:2])))
