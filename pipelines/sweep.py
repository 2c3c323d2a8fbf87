"""Stage `sweep`: tune every cell of a study with the same budget, then confirm its best settings on the test split."""

import itertools
import os

from _stage import PUBLISHED, RESULTS, STORE, STUDIES, data_root, run

from dml.config import ConfigError, Study, place_of
from dml.snapshots import snapshots
from dml.sweep import specs
from dml.sweep.run import run_study
from dml.sweep.space import space_of
from dml.sweep.starts import Starts
from dml.sweep.store import FINISHED, Outcome
from dml.training.build import build_model
from dml.training.data import EVALUATION_ROLES, of_fitting_classes, open_data, open_packed_of, seeds_by_split, split_of
from dml.types import Cell, Choice


def check_sets(study: Study) -> None:
    """Reject evaluation sets without images now, instead of at the end of every trial.

    Raises
    ------
    ValueError : a dataset has no images in a set that `evaluation.sets` names.
    """
    root = data_root(study)
    for dataset in study.datasets:
        found = [split_of(root, dataset.label, seeds[0]) for seeds in seeds_by_split(root, dataset.label, study.seeds)]
        for split, name in itertools.product(found, study.evaluation.sets):
            column, roles = EVALUATION_ROLES[name]
            chosen = split[column].isin(roles)
            if not chosen.any():
                roles_found = ", ".join(sorted(set(split[column])))
                raise ValueError(
                    f"dataset {dataset.label!r}: evaluation.sets names {name!r}, but none of its images is "
                    f"{' or '.join(roles)}. Roles of its images: {roles_found}"
                )
            if study.search.protocol == "train_val_test" and name != "test":
                fine = open_packed_of(root, dataset.label).index["fine"].to_numpy()
                if not len(of_fitting_classes(split.loc[chosen, "index"].to_numpy(), split, fine)):
                    raise ValueError(
                        f"dataset {dataset.label!r}: evaluation.sets names {name!r}, but with search.protocol "
                        "'train_val_test' only half of the training classes are fitted, and it has no image of them"
                    )


def check_starts(study: Study) -> None:
    """Find the weights that networks start from, and reject those that do not fit, before any trial runs.

    Raises
    ------
    ConfigError : with file, line and choices.
    """
    find, root = Starts(RESULTS, STORE), data_root(study)
    digests = dict.fromkeys(("packed", "split", "labels"), "")  # the network does not depend on them
    seeds = dict.fromkeys([*study.seeds, study.search.seed])
    seen = set()
    for cell in study.cells():
        training = study.training_of(cell)
        if training.start is None:
            continue
        space = space_of(study, cell).get("training.embedding_size", Choice((training.embedding_size,)))
        assert isinstance(space, Choice), "whole numbers are searched among choices"
        for seed, size in itertools.product(seeds, space.options):
            try:
                spec = specs.build(study, cell, "confirm", seed, {"training.embedding_size": size}, digests, find)
                case = (cell.dataset, repr(spec.training))
                if case not in seen:
                    build_model(spec, open_data(spec, root))
                seen.add(case)
            except ValueError as error:
                place = place_of(STUDIES / f"{study.name}.yaml", *_location(study, cell))
                raise ConfigError(f"{place}: {error}") from None


def _location(study: Study, cell: Cell) -> tuple[str | int, ...]:
    """Where a study says what the networks of a cell start from."""
    for axis, points in study.axes.items():
        for place, point in enumerate(points):
            if "training.start" in point and point["training.start"] == cell.varied.get("training.start"):
                return "vary", axis, place
    return "training", "start"


def published() -> dict[str, Outcome]:
    """The trials of all published studies, which count as done; none with `DML_PUBLISHED=off`."""
    if os.environ.get("DML_PUBLISHED") == "off":
        return {}
    found = (pair for snapshot in snapshots(PUBLISHED) for pair in snapshot.outcomes())
    return {key: Outcome(FINISHED, **content, host="published") for key, content in found}


def sweep(study: Study) -> None:
    check_sets(study)
    check_starts(study)
    run_study(study, data_root(study), STORE, RESULTS / study.name, published=published())


if __name__ == "__main__":
    run(sweep)
