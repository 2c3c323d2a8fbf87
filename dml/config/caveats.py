"""What a reader must know of a study's scores although they are measured as the study says: said beside each of them.

Unlike flags (`dml.report.analysis.flags`) caveats decide nothing: a comparison with one counts.
"""

from __future__ import annotations

from collections.abc import Collection

import dml
from dml import discovery
from dml.config.study import Study
from dml.data import sources
from dml.types import Cell, noise_model

ON_CORRECT = "chosen on correct labels"


def caveats(study: Study, cell: Cell) -> list[str]:
    """The marks of a cell's scores: `chosen on correct labels`, `shared handwriting`."""
    shared = shared_by_classes(study, cell.dataset)
    return [ON_CORRECT] * chosen_on_correct_labels(study, cell) + [f"shared {shared}"] * bool(shared)


def explained(study: Study, cells: Collection[Cell] | None = None) -> list[str]:
    """The caveats of a study's cells, or of some of them, in sentences."""
    cells, found = study.cells() if cells is None else cells, []
    if any(chosen_on_correct_labels(study, cell) for cell in cells):
        found.append(
            f"{ON_CORRECT.capitalize()}: an oracle. Where training labels are wrong, rates, steps and methods are "
            "still chosen on validation classes with correct labels, which nobody has who needs such a row."
        )
    for dataset in dict.fromkeys(cell.dataset for cell in cells):
        if shared := shared_by_classes(study, dataset):
            found.append(
                f"Shared {shared}: in class splits of {dataset} the images of training and of test classes are made of "
                f"the same {shared}, which the dataset's own split keeps apart. Networks that know it may score higher "
                "on new classes."
            )
    return found


def chosen_on_correct_labels(study: Study, cell: Cell) -> bool:
    """Whether a cell trains on wrong labels, and what it trains with was chosen by validation labels that are not."""
    by_true = study.search.tunes and cell.rate > 0 and not study.search.chooses_by_observed(cell.rate)
    if not by_true or dml.losses.closed_form_of(cell.loss.name) is not None:
        return False
    noise = discovery.find("dml.noise", noise_model(cell.noise))
    as_observed = study.objective(cell.dataset).split("/")[1] == "given" and "given" in noise.context  # type: ignore[attr-defined]
    return not (noise.topline or as_observed)  # type: ignore[attr-defined]


def shared_by_classes(study: Study, dataset: str) -> str:
    """What images of training and test classes share in class splits of a dataset: `handwriting`; mostly nothing."""
    section = study.dataset(dataset)
    if study.splits == 1 or not getattr(sources.find(section.name), "shared", ""):
        return ""
    return str(getattr(sources.build(section.name, **section.settings), "shared", ""))
