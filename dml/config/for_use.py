"""Which models and settings are for use: of one dataset, trained on labels as given, unless another noise is asked for.

Validation scores compare only within a dataset and a noise level: at another one, other images or labels train. A model
that was trained on labels made wrong on purpose shows what noise costs, and is for no other use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dml import discovery
from dml.config.study import Study
from dml.data import sources
from dml.discovery import suggestion
from dml.types import Cell, NoiseLevel, noise_model

AS_GIVEN = "labels as given"
BY_OPTION = "choose one with --{what}"


def makes_noise(noise: str) -> bool:
    """Whether a noise model makes labels wrong, or leaves samples out, by its rate; others read labels as they came."""
    return bool(getattr(discovery.find("dml.noise", noise_model(noise)), "makes_noise", True))


def as_given(levels: Iterable[NoiseLevel]) -> list[NoiseLevel]:
    """Those of some noise levels whose labels are as given. They have the same labels.

    Where a dataset has labels as given beside verified ones (noise `given`), those; else the dataset's own, at the rate
    0 of any noise model; else those of the only label file.
    """
    found = list(dict.fromkeys(levels))
    given = [level for level in found if "given" in discovery.find("dml.noise", noise_model(level.noise)).context]  # type: ignore[attr-defined]
    files = [level for level in found if not makes_noise(level.noise)]
    own = [level for level in found if level.rate == 0 and level not in files]
    return given or own or (files if len(files) == 1 else [])


def levels_for_use(
    levels: Iterable[NoiseLevel], asked: str | None, study: str, how: str = BY_OPTION
) -> list[NoiseLevel]:
    """The noise levels that models or settings for use are of: those with labels as given, or what is asked for.

    Parameters
    ----------
    levels : of one dataset of the study.
    asked : a noise of the study (`uniform`: its level with labels as given, or its only one), or a level
        (`uniform-0.2`); None: labels as given.
    how : says how to ask.

    Raises
    ------
    ValueError : there is no such level, none with labels as given, or several that are asked for; with the choices.
    """
    known = list(dict.fromkeys(levels))
    matching = [level for level in known if asked in (None, level.noise, str(level))]
    names = ", ".join(map(str, known))
    if not matching:
        raise ValueError(f"noise: study {study!r} has no results of {asked!r}{suggestion(str(asked), map(str, known))}")
    if asked is not None and len(matching) == 1:
        return matching
    if found := as_given(matching):
        return found
    if any(not makes_noise(level.noise) for level in known):
        why = "has labels of several files, and none as given"
    else:
        why = "trained only on labels that were made wrong on purpose, and not on labels as given"
    raise ValueError(f"study {study!r} {why}: {how.format(what='noise')}: {names}")


def dataset_for_use(datasets: Iterable[str], asked: str | None, study: str, how: str = BY_OPTION) -> str:
    """The dataset that is asked for; None: the only one.

    Raises
    ------
    ValueError : there are several, or not this one; with the choices.
    """
    known = list(dict.fromkeys(datasets))
    if asked is None and len(known) == 1:
        return known[0]
    if asked is None:
        raise ValueError(f"dataset: study {study!r} has several: {how.format(what='dataset')}: {', '.join(known)}")
    if asked not in known:
        raise ValueError(f"dataset: study {study!r} has no results of {asked!r}{suggestion(asked, known)}")
    return asked


def has_own_labels(study: Study, dataset: str) -> bool:
    """Whether labels as given are a user's own, of which some may be wrong, and the study knows no verified ones."""
    source = sources.find(study.dataset(dataset).name)
    return getattr(source, "own_labels", True) and not any(section.by_given for section in study.noise)


def comparable(cells: Sequence[Cell]) -> dict[tuple[str, str], list[int]]:
    """The places of cells whose scores compare, by dataset and noise level; those with labels as given come first."""
    given = as_given(cell.noise_level for cell in cells)
    found: dict[tuple[str, str], list[int]] = {}
    for place, cell in enumerate(cells):
        level = AS_GIVEN if cell.noise_level in given else str(cell.noise_level)
        found.setdefault((cell.dataset, level), []).append(place)
    return dict(sorted(found.items(), key=lambda item: item[0][1] != AS_GIVEN))


def for_use(cells: Sequence[Cell]) -> list[list[int]]:
    """For each dataset, the places of its cells with labels as given; empty if a study has no such labels."""
    return [places for (_, level), places in comparable(cells).items() if level == AS_GIVEN]
