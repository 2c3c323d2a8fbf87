"""Why does this study's sweep run trials (again)? Prints what differs from the most similar trials in the store."""

from dml.config import Study
from dml.pipeline.folders import RESULTS, SNAPSHOTS, STORE, data_root
from dml.sweep.inputs.rates import Rates
from dml.sweep.store.init_from import InitFromFinder, snapshot_outcomes
from dml.sweep.store.trials import TrialStore
from dml.sweep.why import explain
from dml.training.data import describe


def run(study: Study) -> None:
    root = data_root(study)
    if not root.is_dir():
        raise ValueError(f"{study.name}: nothing has run here yet: dml run {study.name}")
    store = TrialStore(STORE, study.resources.storage, snapshot_outcomes(SNAPSHOTS)).look()
    starts, rates = InitFromFinder(RESULTS, STORE), Rates(root, STORE).stored
    try:
        lines = list(explain(study, store, lambda *names: describe(root, *names), starts, rates))
    except FileNotFoundError as error:  # of a data stage, such as the labels of a seed that is new
        stage = f"`dvc repro corrupt@{study.name}`, which trains nothing"
        raise FileNotFoundError(str(error).replace("`dvc repro`", stage)) from None
    print("\n".join(lines))
