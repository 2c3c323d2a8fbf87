"""A study's sweep: tunes every cell with the same budget and confirms it with every seed, in one Ray Tune run.

Each outcome is stored before it is used, so a killed sweep is run again: trials resume from their checkpoints.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from dml import discovery, models
from dml.config import ConfigError, Study
from dml.counting import counted
from dml.files import replacing, write_text
from dml.sweep.execution import cluster, rendezvous
from dml.sweep.execution.cluster import Room
from dml.sweep.execution.trial_run import TRAINER, find_trainer
from dml.sweep.inputs.baselines import closed_form_scores, untrained_scores
from dml.sweep.inputs.checking import data_counts
from dml.sweep.inputs.rates import Rates
from dml.sweep.plan.cells import Job
from dml.sweep.plan.plan import Plan
from dml.sweep.plan.specs import Describe
from dml.sweep.progress.display import SweepProgress
from dml.sweep.progress.results import LiveTable, git_commit, summarize, trials_frame
from dml.sweep.retention import MODEL, best_model, delete_dropped, has_model
from dml.sweep.store.init_from import InitFromFinder, needed_keys, studies_that_start
from dml.sweep.store.trials import FAILED, FINISHED, Outcome, TrialStore, only_sweep
from dml.training import data

USABLE = ("tuples", "active_share", "anchor_share")  # logged means over the steps; 0: no step had a usable tuple
NAMED = 3  # cells that a message names


def write_results(plan: Plan, progress: SweepProgress, out: Path, data_root: Path, seconds: float) -> pd.DataFrame:
    """Write `trials.parquet` and `summary.json` into the folder `out`, and return the table."""
    frame = trials_frame(plan.study, plan)
    summary = summarize(plan.study, frame, progress.snapshot(), seconds)
    untrained, by_split = untrained_scores(plan, data_root)
    if (best := best_model(frame, plan.store)) is not None:
        plan.store.pull_folder(best, MODEL)
    optional = {
        "data": data_counts(plan.study, data_root),
        "untrained": untrained,
        "untrained_by_split": by_split,
        "untrained_by_noise": closed_form_scores(plan, data_root),
        "model": best,
    }
    summary |= {name: content for name, content in optional.items() if content}
    with replacing(out / "trials.parquet") as temporary:
        frame.to_parquet(temporary, index=False)
    write_text(out / "summary.json", json.dumps(summary, indent=2) + "\n")
    return frame


def tidy(plan: Plan, results: Path, studies: Path | None) -> None:
    """Delete the models that no table keeps, once the results are written."""
    name, store = plan.study.name, plan.store
    try:
        needed = needed_keys(studies_that_start(studies) if studies else [], InitFromFinder(results, store.root))
        count, size = delete_dropped(store, results, name, needed)
    except (ConfigError, OSError) as error:
        print(f"{name}: no model is deleted: {error}", file=sys.stderr, flush=True)
        return
    if count:
        kept = sum(has_model(store, key) for key in {job.key for job, _ in plan.ended() if job.phase == "confirm"})
        others = f"deleted {count} others ({size / 1e6:,.1f} MB)"
        print(f"{name}: kept {counted(kept, 'model')}, the best; {others}", flush=True)


def warnings(plan: Plan) -> Iterator[str]:
    """Which finished trials had no usable tuple in any step, and how to retry those that failed by chance."""
    finished = [(job, outcome) for job, outcome in plan.ended() if outcome.status == FINISHED]
    unusable = [job for job, outcome in finished if any(outcome.diagnostics.get(logged) == 0 for logged in USABLE)]
    if unusable:
        cells = list(dict.fromkeys(job.cell.name for job in unusable))
        more = f" and {len(cells) - NAMED} more cells" if len(cells) > NAMED else ""
        yield (
            f"{len(unusable)} of {len(finished)} trials had no usable tuple in any step, so they score as "
            f"untrained networks: {', '.join(cells[:NAMED])}{more}. Check the miner, the margin and the batch."
        )
    passing = [outcome for _, outcome in plan.ended() if outcome.status == FAILED and not outcome.lasting]
    if passing:  # not stored; DVC considers the stage complete and skips it
        last = passing[0].error.strip().rpartition("\n")[2]
        yield (
            f"{counted(len(passing), 'trial')} failed ({last}). Once the cause is gone, "
            f"`dvc repro --force --single-item sweep@{plan.study.name} && dvc repro` runs only those again."
        )


MAX_STARTING = 64  # workers that start at the same time
MAX_FAILURES = 3  # times a trial is resumed after its worker died


def run_study(
    study: Study,
    data_root: Path,
    store: Path,
    out: Path,
    trainer: str = TRAINER,
    describe: Describe | None = None,
    snapshot_outcomes: Mapping[str, Outcome] | None = None,
    studies: Path | None = None,
) -> pd.DataFrame:
    """Run the missing trials of a study, and write `out/trials.parquet` and `out/summary.json`.

    Parameters
    ----------
    study : what is compared.
    data_root : the folder with the data stages' outputs (`data/<study>`).
    store : the folder of trials, shared by all studies.
    out : the folder for the results; those of other studies are beside it.
    trainer : dotted path of a `dml.protocols.TrainerFactory`, which runs the trials.
    describe : returns the digests of a trial's data; None: `dml.training.data.describe`.
    snapshot_outcomes : outcomes that count as stored, see `TrialStore`.
    studies : the folder of all studies, whose models of `training.init_from` are kept.

    Returns
    -------
    One row per trial, in the study's order: the content of `trials.parquet`.

    Raises
    ------
    ConnectionError : the cluster cannot be reached; nothing was run.
    OSError : a disk is full, or the storage cannot be used. Finished trials are stored.
    KeyboardInterrupt : after Ctrl-C, once all workers have stopped.
    """
    started = time.monotonic()
    git_commit()  # of the code that runs, if there is another before the end
    data_root, store, out = Path(data_root).resolve(), Path(store).resolve(), Path(out)
    find_trainer(trainer)
    describe = describe or partial(data.describe, data_root)
    with only_sweep(store, study.name):
        trials = TrialStore(store, study.resources.storage, snapshot_outcomes)
        if trials.remote is not None:
            trials.remote.check()
        trials.look()
        progress = SweepProgress(study.name, store / "sweeps" / f"{study.name}.json")
        live, state = None, "failed"
        try:
            plan = Plan(study, trials, describe, InitFromFinder(out.parent, store), Rates(data_root, store))
            live = LiveTable(plan)
            progress.watch(plan)

            def ended(job: Job, outcome: Outcome, reused: bool) -> None:
                progress.ended(job, outcome, reused)
                live.ended(job)

            plan.start(ended)
            # What the storage lacks: it was away, is another one, or lost trials.
            if copied := sum(trials.push_missing(job.key) for job, _ in plan.ended()):
                print(f"{study.name}: copied {counted(copied, 'finished trial')} to resources.storage", flush=True)
            if not plan.finished:
                live.write()
                _run_trials(plan, {"data_root": str(data_root), "trainer": trainer}, progress, live)
                trials.look()  # models that other nodes trained are there
            frame = write_results(plan, progress, out, data_root, time.monotonic() - started)
            state = "finished"
        except KeyboardInterrupt:
            state = "interrupted"
            raise
        finally:
            progress.close(state)
            if live is not None:
                live.close(finished=state == "finished")
        for warning in warnings(plan):
            print(f"{study.name}: {warning}", file=sys.stderr, flush=True)
        tidy(plan, out.parent, studies)
    return frame


def _fetch_weights(study: Study) -> None:
    """Download the weights that trials start from, once: what is missing is an error before the first trial."""
    trainings = [training for cell in study.cells() if not (training := study.training_of(cell)).init_from]
    fetching = {repr((t.backbone, t.backbone_settings)): t for t in trainings if not (t.frozen or t.train_from)}
    for training in fetching.values():
        settings = training.backbone_settings
        is_pretrained = settings.get("pretrained", True) and settings.get("weights") is None
        if is_pretrained and models.find(training.backbone).packages:
            discovery.build("dml.models", training.backbone, **settings)


def _run_trials(plan: Plan, shared: dict[str, Any], progress: SweepProgress, live: LiveTable) -> None:
    """Run the plan's trials in one Ray Tune run."""
    resources, workers = plan.study.resources, plan.study.training.workers
    _fetch_weights(plan.study)
    cluster.connect()
    from ray import tune

    from dml.sweep.execution.search import CellSearcher, FreeWorkers, PlanStopper, Watch
    from dml.sweep.execution.trial import TrialWorker

    room = Room(resources, workers)
    room.check()
    progress.slots = room
    # How many workers Ray Tune starts at the same time. By default they start one after another.
    os.environ["TUNE_MAX_PENDING_TRIALS_PG"] = str(min(room(), MAX_STARTING))
    shared |= {"store": str(plan.store.root), "storage": resources.storage, "device": resources.device}
    worker = rendezvous.of_sweep(resources.worker(workers), uuid.uuid4().hex)
    shared |= {"path": tuple(sys.path), "workers": workers, "worker": worker}
    # The driver of a trial that several workers share takes no processor, and Ray Train finds room for the workers.
    driver = {"memory": 1.0} if workers > 1 else {"cpu": resources.cpus_per_trial, "gpu": resources.gpus_per_trial}
    stopper = PlanStopper(plan, live.evaluated)
    searcher = CellSearcher(plan, shared, room, stopper)
    free = partial(rendezvous.free, worker) if workers > 1 else None
    watch = Watch(searcher, stopper, progress.resumed, free)
    scratch = tempfile.mkdtemp(prefix="dml-")
    try:
        with _stopping_on_ctrl_c(stopper.stop):
            tune.run(
                tune.with_resources(TrialWorker, driver),
                name="sweep",
                search_alg=searcher,
                scheduler=FreeWorkers(room.fits),
                num_samples=-1,
                stop=stopper,
                callbacks=[watch],
                reuse_actors=True,
                max_failures=MAX_FAILURES,
                storage_path=scratch,
                trial_dirname_creator=lambda trial: trial.trial_id,
                raise_on_failed_trial=False,
                verbose=0,
            )
    finally:
        watch.end()
        shutil.rmtree(scratch, ignore_errors=True)
    stopper.raise_problem()


@contextmanager
def _stopping_on_ctrl_c(stop: Callable[[BaseException], None]) -> Iterator[None]:
    """The first Ctrl-C stops the workers and then the sweep, a second one stops at once. The next run resumes."""

    def first(number: int, frame: object) -> None:
        text = "\nStopping the workers; finished trials are stored (Ctrl-C again to stop at once)."
        print(text, file=sys.stderr, flush=True)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        stop(KeyboardInterrupt())

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can handle signals
        return
    before = signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
