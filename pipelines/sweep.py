"""Stage `sweep`: tune every cell of a study with the same budget, then confirm its best settings on the test split."""

import os

from _stage import PUBLISHED, RESULTS, STORE, data_root, run

from dml.config import Study
from dml.data import splits
from dml.snapshots import snapshots
from dml.sweep.run import run_study
from dml.sweep.store import FINISHED, Outcome
from dml.training.data import EVALUATION_ROLES


def check_sets(study: Study) -> None:
    """Reject evaluation sets without images now, instead of at the end of every trial.

    Raises
    ------
    ValueError : a dataset has no images in a set that `evaluation.sets` names.
    """
    for dataset in study.datasets:
        split = splits.load(data_root(study) / "split" / f"{dataset.label}.parquet")
        for name in study.evaluation.sets:
            column, roles = EVALUATION_ROLES[name]
            if not split[column].isin(roles).any():
                roles_found = ", ".join(sorted(set(split[column])))
                raise ValueError(
                    f"dataset {dataset.label!r}: evaluation.sets names {name!r}, but none of its images is "
                    f"{' or '.join(roles)}. Roles of its images: {roles_found}"
                )


def published() -> dict[str, Outcome]:
    """The trials of all published studies, which count as done; none with `DML_PUBLISHED=off`."""
    if os.environ.get("DML_PUBLISHED") == "off":
        return {}
    found = (pair for snapshot in snapshots(PUBLISHED) for pair in snapshot.outcomes())
    return {key: Outcome(FINISHED, **content, host="published") for key, content in found}


def sweep(study: Study) -> None:
    check_sets(study)
    run_study(study, data_root(study), STORE, RESULTS / study.name, published=published())


if __name__ == "__main__":
    run(sweep)
