"""Whether classes have covariances with equal eigenvalues (section 2 of the supplement of Vasudeva et al. 2021)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from dml.report.analysis import spectrum as analysis
from dml.report.analysis.embedded_cells import Shown, level_of, sets_of, shown, vectors
from dml.report.figure_data import Arrays
from dml.report.figures.eigenvalues import LOOKS, eigenvalues
from dml.report.labels import SETS
from dml.report.page.blocks import Block, Drawing, Folded, Paragraph
from dml.report.page.tables import Column, Table
from dml.report.results import Results
from dml.report.sections._embedded import absent, asked, described, describing_columns, named
from dml.report.texts import Texts

say = Texts(__file__)

SCALE = 100  # eigenvalues are shown times 100, as in the paper
RANGE = (2.5, 97.5)  # percentiles of the null


class Spectrum:
    """Eigenvalues of class covariances, beside those that chance gives."""

    anchor, title = "spectrum", "Shapes of classes"

    def applies(self, results: Results) -> bool:
        """The study asks for it."""
        return asked(results, "spectrum")

    def content(self, results: Results) -> Iterator[Block | None]:
        """What is compared; a figure for each dataset and set, all but the first set folded; a table."""
        found = shown(results, "spectrum")
        if not found:
            yield absent()
            return
        yield Paragraph(say("question"))
        rows: list[dict[str, Any]] = []
        for each in found:
            for place, part in enumerate(sets_of(results, each)):
                drawing, own = _measured(results, each, part)
                yield drawing if place == 0 else Folded(f"Shapes: {SETS.get(part, part)}", (drawing,))
                rows += own
        if rows:
            yield _table(results, pd.DataFrame(rows))


def _measured(results: Results, of: Shown, part: str) -> tuple[Drawing | None, list[dict[str, Any]]]:
    """The figure of one set, and the rows of its table."""
    spectra: dict[str, analysis.Spectrum] = {}
    for name, key in of.keys.items():
        made = _spectrum(results, of, name, key, part)
        if made is not None:
            spectra[name] = made
    if not spectra:
        return None, []
    frame = pd.concat([_values(results, of, name, part, made) for name, made in spectra.items()], ignore_index=True)
    figure = eigenvalues(frame, f"eigenvalue x {SCALE}")
    classes = max(len(made.classes) for made in spectra.values())
    caption = say(
        "figure",
        scale=SCALE,
        set=SETS.get(part, part),
        where=of.where,
        classes=classes,
        least=analysis.LEAST,
        note=of.note,
    )
    drawing = Drawing(f"spectrum-{of.dataset}-{part}", figure, frame, say("alt"), caption)
    return drawing, [row for name, made in spectra.items() for row in _rows(results, of, name, part, made)]


def _values(results: Results, of: Shown, name: str, part: str, made: analysis.Spectrum) -> pd.DataFrame:
    """One row for each eigenvalue of each class, and of each of their counterparts."""
    rows = named(results, of, name, part)
    return pd.concat(
        pd.DataFrame(rows | {"series": series, "eigenvalue": i + 1, "value": own})
        for series, values in zip(LOOKS, (made.classes, made.null[0]), strict=True)
        for i, own in enumerate(values.T)
    )


def _spectrum(results: Results, of: Shown, name: str, key: str, part: str) -> analysis.Spectrum | None:
    def compute() -> Arrays:
        content = results.embeddings(key)
        rows = content["set"] == part
        points = vectors(results, name, content)[rows] * np.sqrt(SCALE)
        labels = content[f"labels_{level_of(results, of.dataset)}"][rows]
        made = analysis.spectrum(points, labels, results.study.report.seed, results.kept)
        if made is None:
            return {}
        classes, null = made.classes.astype(np.float32), made.null.astype(np.float16)
        return {"classes": classes, "sizes": made.sizes.astype(np.int32), "null": null}

    found = results.figures.of("spectrum", key, part, compute)
    return analysis.Spectrum(found["classes"], found["sizes"], found["null"].astype(np.float32)) if found else None


def _rows(results: Results, of: Shown, name: str, part: str, made: analysis.Spectrum) -> Iterator[dict[str, Any]]:
    """One row for each eigenvalue."""
    for i in range(made.classes.shape[1]):
        own, null = made.classes[:, i], made.null_variation[:, i]
        low, high = np.percentile(null, RANGE)
        yield described(results, of, name, part) | {
            "eigenvalue": i + 1,
            "mean": float(own.mean()),
            "std": float(own.std(ddof=1)),
            "variation": float(made.variation[i]),
            "null": float(null.mean()),
            "null low": float(low),
            "null high": float(high),
            "says": "more than chance" if made.variation[i] > high else "no more than chance",
            "classes": len(made.classes),
            "images": float(np.median(made.sizes)),
        }


def _table(results: Results, frame: pd.DataFrame) -> Table:
    columns = (
        *describing_columns(results),
        Column("eigenvalue", "Eigenvalue", "count"),
        Column("mean", f"Mean x {SCALE}", "number"),
        Column("std", "Std", "number", "over classes"),
        Column("variation", "Variation", "rate", "standard deviation over mean"),
        Column("null", "Of one Gaussian", "rate_interval", "the same of samples of one Gaussian, with its 95% range"),
        Column("says", "Classes differ"),
    )
    caption = say("table", repeats=analysis.REPEATS, images=int(frame["images"].min()))
    return Table("spectrum", "Variation of the eigenvalues over classes", caption, columns, frame)
