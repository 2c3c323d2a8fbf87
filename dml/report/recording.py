"""What a publication keeps of a study's embeddings: the arrays that the figures of its page are drawn from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from dml import discovery
from dml.config import Study
from dml.report import contents
from dml.report.analysis.interval_coverage import covers
from dml.report.assembly import PACKAGE
from dml.report.figure_data import FigureData
from dml.report.loading import load
from dml.report.sections.protocols import Section


def figure_arrays(
    study: Study, results: Path, store: Path, data: Path, before: Mapping[str, np.ndarray] | None = None
) -> dict[str, np.ndarray]:
    """By `<figure>/<key>/<set>/<field>`; of trials without embeddings, only each class's scores.

    Parameters
    ----------
    results, store, data : the study's folder of results, the store of trials, and the study's folder of data.
    before : the arrays of the snapshot that is replaced; trials that were reused from it have no others.
    """
    loaded = replace(load(study, results, store, data=data), figures=FigureData(before=before or {}))
    covers(loaded)  # asks for each class's scores
    for name in contents.EMBEDDINGS:
        section: Section = discovery.build(PACKAGE, name)
        if section.applies(loaded):
            for _ in section.content(loaded):
                pass
    return loaded.figures.found
