"""Which dataset of a study its section `audit` means, and which cell's settings; and the section's checks."""

from __future__ import annotations

import dml
from dml.config import matching
from dml.config.audit import AuditSection
from dml.config.errors import LocatedError
from dml.config.for_use import for_use
from dml.config.study import Study
from dml.discovery import suggestion
from dml.types import Cell


def audited_cell(section: AuditSection, study: Study) -> Cell:
    """The cell whose settings train the networks of `trained`: the dataset's first one that trains and has its
    attributes, with labels as given if there is such a cell.

    Raises
    ------
    ValueError : there is none, or its network has seen labels, or is not trained as a whole.
    """
    dataset = audited_dataset(section, study)
    cells = [cell for cell in study.cells() if cell.dataset == dataset]
    wanted = section.trained if isinstance(section.trained, dict) else {}
    found = matching.check_matching(cells, wanted)
    trained = [cell for cell in found if dml.losses.closed_form_of(cell.loss.name) is None]
    if not trained:
        raise ValueError(f"{found[0].loss.name!r} is a closed form, which trains no network: choose another loss")
    cell = trained[next(iter(for_use(trained)), [0])[0]]
    training = study.training_of(cell)
    if study.dataset(dataset).passes_on is not None:
        raise ValueError(f"dataset {dataset!r} has vectors and no images, so there is no network to train: remove it")
    if training.frozen:
        raise ValueError(
            f"the cell {cell.name} trains only a head on frozen features, which are a representation already: "
            "remove it, or choose a cell without training.frozen"
        )
    if training.train_from is not None:
        raise ValueError(
            f"the cell {cell.name} trains only the blocks from {training.train_from!r} on, and no whole network: "
            "choose a cell without training.train_from"
        )
    if training.init_from is not None:
        raise ValueError(
            "training.init_from gives weights that may come from the audited labels, so no label would be held out: "
            "remove it, or give weights to the backbone (its settings)"
        )
    return cell


def audited_dataset(section: AuditSection, study: Study) -> str:
    """The name of the audited dataset.

    Raises
    ------
    ValueError : the study has none of this name, or several and none is named.
    """
    names = [dataset.label for dataset in study.datasets]
    if section.dataset and section.dataset not in names:
        raise ValueError(f"{section.dataset!r} is no dataset of the study{suggestion(section.dataset, names)}")
    if not section.dataset and len(names) > 1:
        raise ValueError(f"the study has several datasets: name one, as in audit: {{dataset: {names[0]}}}")
    return section.dataset or names[0]


def check(study: Study) -> None:
    """Reject a section that names no dataset of the study, or asks for what that dataset does not have.

    Raises
    ------
    LocatedError : the message lists the datasets.
    """
    if study.audit is None:
        return
    try:
        chosen = audited_dataset(study.audit, study)
    except ValueError as error:
        raise LocatedError(str(error), "audit", "dataset") from error
    vectors = study.dataset(chosen).passes_on is not None
    if vectors and study.audit.backbone is not None:
        raise LocatedError(f"dataset {chosen!r} has vectors and no images: remove the backbone", "audit", "backbone")
    if study.audit.trained is not False:
        try:
            audited_cell(study.audit, study)
        except ValueError as error:
            raise LocatedError(str(error), "audit", "trained") from error
    frozen = any(study.training_of(cell).frozen for cell in study.cells() if cell.dataset == chosen)
    others = study.audit.backbone is not None or study.audit.trained is not False or frozen
    if not vectors and study.audit.pixels is None and not others:
        raise LocatedError(
            "pixels: null leaves nothing to audit with: name a backbone, set trained: true, or keep pixels", "audit"
        )
