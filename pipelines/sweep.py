"""Stage `sweep`: tune every cell of a study at the same budget, then confirm its best settings on the test split."""

from _stage import RESULTS, STORE, data_root, run

from dml.config import Study
from dml.sweep.run import run_study


def sweep(study: Study) -> None:
    run_study(study, data_root(study), STORE, RESULTS / study.name)


if __name__ == "__main__":
    run(sweep)
