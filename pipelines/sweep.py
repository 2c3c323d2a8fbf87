"""Stage `sweep`: tune every cell of a study with the same budget, then confirm its best settings on the test split."""

import os

from _stage import PUBLISHED, RESULTS, STORE, STUDIES, data_root, run

from dml.config import Study
from dml.snapshots import snapshots
from dml.sweep.checking import check
from dml.sweep.run import run_study
from dml.sweep.starts import Starts
from dml.sweep.store import FINISHED, Outcome


def published() -> dict[str, Outcome]:
    """The trials of all published studies, which count as done; none with `DML_PUBLISHED=off`."""
    if os.environ.get("DML_PUBLISHED") == "off":
        return {}
    found = (pair for snapshot in snapshots(PUBLISHED) for pair in snapshot.outcomes())
    return {key: Outcome(FINISHED, **content, host="published") for key, content in found}


def sweep(study: Study) -> None:
    check(study, data_root(study), STUDIES / f"{study.name}.yaml", Starts(RESULTS, STORE))
    run_study(study, data_root(study), STORE, RESULTS / study.name, published=published(), studies=STUDIES)


if __name__ == "__main__":
    run(sweep)
