"""Stage `sweep`: tune every cell of a study with the same budget, then confirm its best settings on the test split."""

from dml.config import Study
from dml.pipeline.folders import RESULTS, SNAPSHOTS, STORE, STUDIES, data_root
from dml.pipeline.syncing import Place, syncing
from dml.sweep.inputs.checking import check
from dml.sweep.run import run_study
from dml.sweep.store.init_from import InitFromFinder, snapshot_outcomes


def run(study: Study) -> None:
    check(study, data_root(study), STUDIES / f"{study.name}.yaml", InitFromFinder(RESULTS, STORE))
    outcomes = snapshot_outcomes(SNAPSHOTS)
    with syncing(Place.of(study.name)):
        run_study(study, data_root(study), STORE, RESULTS / study.name, snapshot_outcomes=outcomes, studies=STUDIES)
