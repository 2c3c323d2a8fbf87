"""Which models and settings are for use (of one dataset, on labels as given unless another noise is asked for), and
what a reader must know of scores: caveats, whether they are tuned, and with what budget."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import dml
from dml import discovery
from dml.config import compare
from dml.config.data import makes_noise
from dml.config.errors import LocatedError
from dml.config.evaluation import AuditSection
from dml.config.recipes import RATES
from dml.config.study import Study
from dml.counting import counted
from dml.data import sources
from dml.discovery import suggestion
from dml.types import Cell, NoiseLevel, noise_model, observed_levels

AS_GIVEN = "labels as given"


def as_given(levels: Iterable[NoiseLevel]) -> list[NoiseLevel]:
    """The noise levels with labels as given: those of noise `given`, else those at rate 0, else the only label file."""
    distinct = list(dict.fromkeys(levels))
    given = [level for level in distinct if "given" in discovery.find("dml.noise", noise_model(level.noise)).context]  # type: ignore[attr-defined]
    files = [level for level in distinct if not makes_noise(level.noise)]
    clean = [level for level in distinct if level.rate == 0 and level not in files]
    return given or clean or (files if len(files) == 1 else [])


def levels_for_use(levels: Iterable[NoiseLevel], requested: str | None, study: str) -> list[NoiseLevel]:
    """The noise levels that models or settings for use are of: those with labels as given, or what is asked for."""
    choices = list(dict.fromkeys(levels))
    matching = [level for level in choices if requested in (None, level.noise, str(level))]
    names = ", ".join(map(str, choices))
    if not matching:
        raise ValueError(
            f"noise: study {study!r} has no results of {requested!r}{suggestion(str(requested), map(str, choices))}"
        )
    if requested is not None and len(matching) == 1:
        return matching
    if usable := as_given(matching):
        return usable
    if requested is not None:
        why, names = f"has several levels of {requested!r}", ", ".join(map(str, matching))
    elif any(not makes_noise(level.noise) for level in choices):
        why = "has labels of several files, and none as given"
    else:
        why = "trained only on labels that were made wrong on purpose, and not on labels as given"
    raise ValueError(f"study {study!r} {why}: choose one with --noise: {names}")


def dataset_for_use(datasets: Iterable[str], requested: str | None, study: str) -> str:
    """The dataset that is asked for; None: the only one."""
    choices = list(dict.fromkeys(datasets))
    if requested is None and len(choices) == 1:
        return choices[0]
    if requested is None:
        raise ValueError(f"dataset: study {study!r} has several: choose one with --dataset: {', '.join(choices)}")
    if requested not in choices:
        raise ValueError(f"dataset: study {study!r} has no results of {requested!r}{suggestion(requested, choices)}")
    return requested


def has_user_labels(study: Study, dataset: str) -> bool:
    """Whether labels as given are a user's own, of which some may be wrong, and the study knows no verified ones."""
    source = sources.find(study.dataset(dataset).name)
    return getattr(source, "own_labels", True) and not any(section.by_given for section in study.noise)


def comparable(cells: Sequence[Cell]) -> dict[tuple[str, str], list[int]]:
    """The places of cells whose scores compare, by dataset and noise level; those with labels as given come first."""
    given = as_given(cell.noise_level for cell in cells)
    groups: dict[tuple[str, str], list[int]] = {}
    for index, cell in enumerate(cells):
        level = AS_GIVEN if cell.noise_level in given else str(cell.noise_level)
        groups.setdefault((cell.dataset, level), []).append(index)
    return dict(sorted(groups.items(), key=lambda item: item[0][1] != AS_GIVEN))


def for_use(cells: Sequence[Cell]) -> list[list[int]]:
    """For each dataset, the places of its cells with labels as given; empty if a study has no such labels."""
    return [indices for (_, level), indices in comparable(cells).items() if level == AS_GIVEN]


ON_CORRECT = "chosen on correct labels"


def caveats(study: Study, cell: Cell) -> list[str]:
    """The marks of a cell's scores: `chosen on correct labels`, `shared handwriting`."""
    shared = shared_by_classes(study, cell.dataset)
    return [ON_CORRECT] * chosen_on_correct_labels(study, cell) + [f"shared {shared}"] * bool(shared)


def explained(study: Study, cells: Collection[Cell] | None = None) -> list[str]:
    """The caveats of a study's cells, or of some of them, in sentences."""
    cells, texts = study.cells() if cells is None else cells, []
    if any(chosen_on_correct_labels(study, cell) for cell in cells):
        texts.append(
            f"{ON_CORRECT.capitalize()}: an oracle. Where training labels are wrong, rates, steps and methods are "
            "still chosen on validation classes with correct labels, which nobody has who needs such a row."
        )
    for dataset in dict.fromkeys(cell.dataset for cell in cells):
        if shared := shared_by_classes(study, dataset):
            texts.append(
                f"Shared {shared}: in class splits of {dataset} the images of training and of test classes are made of "
                f"the same {shared}, which the dataset's own split keeps apart. Networks that know it may score higher "
                "on new classes."
            )
    return texts


def chosen_on_correct_labels(study: Study, cell: Cell) -> bool:
    """Whether a cell trains on wrong labels, and what it trains with was chosen by validation labels that are not."""
    level = study.objective(cell.dataset).split("/")[1]
    observed = study.search.chooses_by_observed(cell.noise, cell.rate)
    observed = observed and level in observed_levels(study.dataset(cell.dataset).train_on)
    if not study.search.tunes or cell.rate == 0 or observed or dml.losses.closed_form_of(cell.loss.name) is not None:
        return False
    noise = discovery.find("dml.noise", noise_model(cell.noise))
    as_observed = level == "given" and "given" in noise.context  # type: ignore[attr-defined]
    return not (noise.topline or as_observed)  # type: ignore[attr-defined]


def shared_by_classes(study: Study, dataset: str) -> str:
    """What images of training and test classes share in class splits of a dataset: `handwriting`; mostly nothing."""
    section = study.dataset(dataset)
    if study.splits == 1 or not getattr(sources.find(section.name), "shared", ""):
        return ""
    return str(getattr(sources.build(section.name, **section.settings), "shared", ""))


SAMPLERS = {"tpe": "each tries what the results of earlier ones suggest"}
"""How trials are chosen, in words."""
NOT_TUNED, RATE_NOT_TUNED = "not tuned", "rate not tuned"


def mark(study: Study) -> str:
    """`not tuned`, `rate not tuned`, or nothing: a rate is tuned if it is searched, or an axis of the study."""
    rates = {f"training.{rate}" for rate in RATES}
    if any(rates.issuperset(settings) for values in study.axes.values() for settings in values):
        return ""
    if study.search.sampler == "fixed":
        return NOT_TUNED
    return "" if any(rate in study.training.search for rate in RATES) else RATE_NOT_TUNED


def one_search(study: Study) -> str:
    """What intervals of a tuned study with one class split are of; empty if it is not such a study."""
    searched = study.search.sampler != "fixed" and any(
        not dml.losses.closed_form_of(loss.name) for loss in study.losses
    )
    if not searched or study.splits > 1:
        return ""
    return "one class split; the part of a search is estimated from its trials (class_splits repeats both)"


def budget_text(study: Study) -> str:
    """What tunes each cell: `8 trials for each cell (tpe), which stops at its best step`; and the mark, if any."""
    search = study.search
    if search.sampler == "fixed":
        return f"{NOT_TUNED}: each cell has one setting" if mark(study) else "one setting for each cell"
    most = "at most " if search.sampler == "grid" else ""  # a grid of few ranges or of many has fewer points
    text = f"{most}{counted(search.trials, 'trial')} for each cell ({SAMPLERS.get(search.sampler, search.sampler)})"
    text += ", which stops at its best step" if search.stop == "best" else ""
    return f"{mark(study)}: {text}" if mark(study) else text


def audited_cell(section: AuditSection, study: Study) -> Cell:
    """The cell whose settings train the networks of `trained`: the dataset's first one that trains and has its
    attributes, with labels as given if there is such a cell.
    """
    dataset = audited_dataset(study)
    cells = [cell for cell in study.cells() if cell.dataset == dataset]
    attributes = section.trained if isinstance(section.trained, dict) else {}
    matching = compare.check_matching(cells, attributes)
    trained = [cell for cell in matching if dml.losses.closed_form_of(cell.loss.name) is None]
    if not trained:
        raise ValueError(f"{matching[0].loss.name!r} is a closed form, which trains no network: choose another loss")
    cell = trained[next(iter(for_use(trained)), [0])[0]]
    training = study.training_of(cell)
    problems = {
        f"dataset {dataset!r} has vectors and no images, so there is no network to train: remove it": (
            study.dataset(dataset).passes_on is not None
        ),
        f"the cell {cell.name} trains only a head on frozen features, which are a representation already: remove it, "
        "or choose a cell without training.frozen": training.frozen,
        f"the cell {cell.name} trains only the blocks from {training.train_from!r} on, and no whole network: choose a "
        "cell without training.train_from": training.train_from is not None,
        "training.init_from gives weights that may come from the audited labels, so no label would be held out: remove "
        "it, or give weights to the backbone (its settings)": training.init_from is not None,
    }
    for problem, occurs in problems.items():
        if occurs:
            raise ValueError(problem)
    return cell


def audited_dataset(study: Study) -> str:
    """The name of the audited dataset."""
    names = [dataset.label for dataset in study.datasets]
    if len(names) > 1:
        raise ValueError(f"an audit is of one dataset: expected a study of one of {', '.join(names)}")
    return names[0]


def check(study: Study) -> None:
    """Reject a section that names no dataset of the study, or asks for what that dataset does not have."""
    if study.audit is None:
        return
    try:
        dataset = audited_dataset(study)
    except ValueError as error:
        raise LocatedError(str(error), "audit") from error
    vectors = study.dataset(dataset).passes_on is not None
    if vectors and study.audit.backbone is not None:
        raise LocatedError(f"dataset {dataset!r} has vectors and no images: remove the backbone", "audit", "backbone")
    if study.audit.trained is not False:
        try:
            audited_cell(study.audit, study)
        except ValueError as error:
            raise LocatedError(str(error), "audit", "trained") from error
