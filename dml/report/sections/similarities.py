"""Similarities of positive and negative pairs before and after training (poster of Ustinova & Lempitsky 2016)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from dml.report.analysis import similarities as analysis
from dml.report.analysis.embedded_cells import Shown, level_of, sets_of, shown, vectors
from dml.report.analysis.summaries import summary_of
from dml.report.figure_data import Arrays
from dml.report.figures.similarity_histograms import similarity_histograms
from dml.report.labels import SETS
from dml.report.page.blocks import Block, Drawing, Folded
from dml.report.page.tables import Column, Table
from dml.report.results import Results
from dml.report.sections._embedded import absent, asked, described, describing_columns, named
from dml.report.sections._rows import interval_note
from dml.report.texts import Texts

say = Texts(__file__)

MOMENTS = {"before training": True, "after training": False}  # whether embeddings are those of the start


class Similarities:
    """Histograms, and how far they overlap."""

    anchor, title = "similarities", "Similar pairs, before and after training"

    def applies(self, results: Results) -> bool:
        """The study asks for it."""
        return asked(results, "similarities")

    def content(self, results: Results) -> Iterator[Block | None]:
        """A figure for each dataset and set, all but the first set folded; a table for all seeds."""
        found = shown(results, "similarities")
        if not found:
            yield absent()
        rows = []
        for each in found:
            for place, part in enumerate(sets_of(results, each)):
                drawing = _drawing(results, each, part)
                yield drawing if place == 0 else Folded(f"Similarities: {SETS.get(part, part)}", (drawing,))
                rows += [_row(results, each, name, part) for name in each.keys]
        if rows:
            yield _table(results, pd.DataFrame(rows))


def _drawing(results: Results, of: Shown, part: str) -> Drawing:
    cosine = _cosine(results, of)
    frames = []
    for moment, start in MOMENTS.items():
        found = {name: _measured(results, name, key, part, start, cosine) for name, key in of.keys.items()}
        if all(found.values()):
            frames += [_shares(results, of, name, part, moment, each, cosine) for name, each in found.items() if each]
    frame = pd.concat(frames, ignore_index=True)
    what = "cosine similarity" if cosine else "Euclidean distance"
    figure = similarity_histograms(frame, f"{what} of two images")
    pairs = f"{analysis.PAIRS:,}"
    caption = say("figure", set=SETS.get(part, part), where=of.where, pairs=pairs, note=of.note)
    return Drawing(f"similarities-{of.dataset}-{part}", figure, frame, say("alt"), caption)


def _shares(
    results: Results, of: Shown, name: str, part: str, moment: str, found: analysis.Overlap, cosine: bool
) -> pd.DataFrame:
    """One row for each bin of each kind of pairs."""
    edges = found.edges if cosine else -found.edges  # minus the distances
    about = named(results, of, name, part) | {"moment": moment, "reverse": found.reverse, "overlap": found.area}
    bins, shares = {"from": edges[:-1], "to": edges[1:]}, {"positive": found.positive, "negative": found.negative}
    return pd.concat(pd.DataFrame(about | {"pairs": kind} | bins | {"share": own}) for kind, own in shares.items())


def _row(results: Results, of: Shown, name: str, part: str) -> dict[str, object]:
    """One row of the table: a cell on one set, over the seeds that kept their embeddings."""
    trials = results.confirmed_of(name)
    values: dict[str, list[float]] = {}
    cosine = results.study.training_of(results.cells[name]).normalize
    for key in trials["key"].astype(str):
        for moment, start in MOMENTS.items():
            found = _measured(results, name, key, part, start, cosine)
            if found is not None and np.isfinite(found.reverse):
                values.setdefault(f"reverse {moment}", []).append(100 * found.reverse)
                values.setdefault(f"overlap {moment}", []).append(100 * found.area)
    row: dict[str, object] = described(results, of, name, part)
    for measure in ("reverse", "overlap"):
        for moment in MOMENTS:
            row |= summary_of(values.get(f"{measure} {moment}", []), f"{measure} {moment}", overlap=results.overlap)
    return row


def _table(results: Results, frame: pd.DataFrame) -> Table:
    columns = [*describing_columns(results)]
    for measure, label in (("reverse", "Reverse order"), ("overlap", "Overlap")):
        columns += [Column(f"{measure} {moment}", f"{label}, {moment.split()[0]}", "score") for moment in MOMENTS]
    caption = say("table", shown=interval_note(results))
    return Table("similarities", "Reverse order and overlap", caption, tuple(columns), frame)


def _measured(results: Results, name: str, key: str, part: str, start: bool, cosine: bool) -> analysis.Overlap | None:
    """A trial's similarities on one set; None if it kept no such embeddings."""

    def compute() -> Arrays:
        content = results.embeddings(key, start=start)
        if not content:
            return {}
        rows = content["set"] == part
        labels = content[f"labels_{level_of(results, results.cells[name].dataset)}"][rows]
        points = vectors(results, name, content)[rows]
        measured = analysis.measured(points, labels, cosine, results.study.report.seed, results.kept)
        return {of + field: np.asarray(value, dtype=np.float32) for field, value in vars(measured).items()}

    of = ("start " if start else "") + ("" if cosine else "distance ")
    found = results.figures.of("similarities", key, part, compute)
    if of + "reverse" not in found:
        return None
    positive, negative, edges = (found[of + field] for field in ("positive", "negative", "edges"))
    return analysis.Overlap(positive, negative, edges, float(found[of + "reverse"]), float(found[of + "area"]))


def _cosine(results: Results, of: Shown) -> bool:
    """Whether cosines are drawn: unless a shown method does not normalise its embeddings."""
    return all(results.study.training_of(results.cells[name]).normalize for name in of.keys)
