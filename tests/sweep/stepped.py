"""A sweep whose trials end one by one, when a test says so; what MLflow must show of it."""

import json
import time
from collections import Counter
from contextlib import contextmanager

import mlflow
import toy
from driver import place, study

from dml.files import write_json
from dml.pipeline.syncing import syncing
from dml.sweep.plan import cells
from dml.sweep.plan.plan import Plan
from dml.sweep.progress.results import LiveTable, trials_frame
from dml.sweep.store.trials import FINISHED, Outcome, TrialStore


class Sweep:
    """A sweep in a folder, without workers."""

    def __init__(self, folder, uri, name="toys"):
        folder.mkdir(exist_ok=True)
        self.folder, self.study, self.place = folder, study(name=name), place(folder, uri, name=name)
        self.plan = Plan(self.study, TrialStore(folder / "store"), toy.describe)
        self.plan.start(lambda job, outcome, reused: None)
        self.live, self.job = LiveTable(self.plan), None

    def _say(self, state):
        write_json(self.folder / f"store/sweeps/{self.study.name}.json", {"state": state, "updated": time.time() + 600})

    def end(self, count):
        """End some trials. Another one has begun then, if there is one."""
        for _ in range(count):
            self.job = self.job or self.plan.take()
            if self.job is not None:
                key = cells.objective(self.plan.study, self.job)
                curve = [[5, {key: 0.25}], [10, {key: 0.5}]]
                outcome = Outcome(FINISHED, {key: 0.5}, curve, seconds=2.0, started="2026-01-01T00:00:00+00:00")
                self.plan.end(self.job.id, outcome)
                self.live.ended(self.job)
                self.job = None
        self._say("running")
        if (job := self.plan.take()) is not None:
            self.job = job
            self.live.evaluated(job, [[5, {cells.objective(self.plan.study, job): 0.25}]], 1.0)

    def finish(self):
        """End all trials, and write the results."""
        while not self.plan.finished:
            self.end(1)
        (self.folder / "out").mkdir()
        trials_frame(self.study, self.plan).to_parquet(self.folder / "out" / "trials.parquet")
        write_json(self.folder / "out/summary.json", {})
        self.live.close(finished=True)

    def shown(self, kind="trial"):
        """The study's runs in MLflow."""
        client = mlflow.MlflowClient(tracking_uri=self.place.uri)
        experiment = client.get_experiment_by_name("dml")
        wanted = f"tags.`dml.kind` = '{kind}' and tags.`dml.study` = '{self.study.name}'"
        return [] if experiment is None else list(client.search_runs([experiment.experiment_id], wanted))

    def wait(self, statuses):
        """Wait until the trials in MLflow have these statuses."""
        until = time.monotonic() + 120
        while (now := Counter(run.info.status for run in self.shown())) != statuses:
            assert time.monotonic() < until, now
            time.sleep(0.2)

    def check(self):
        """Each trial is there once, with its whole curve once."""
        frame = trials_frame(self.study, self.plan)
        runs, client = self.shown(), mlflow.MlflowClient(tracking_uri=self.place.uri)
        assert Counter(run.data.tags["dml.key"] for run in runs) == Counter(frame["key"])
        kinds = [*runs, *self.shown("cell"), *self.shown("study")]
        assert len(kinds) == len(frame) + len(self.plan.states) + 1
        assert {run.info.status for run in kinds} == {"FINISHED"}
        curves = {row.key: json.loads(row.curve) for row in frame.itertuples()}
        for run in runs:
            (key,) = curves[run.data.tags["dml.key"]][0][1]
            history = client.get_metric_history(run.info.run_id, key.replace("@", "_at_"))
            assert [(point.step, point.value) for point in history] == [(5, 0.25), (10, 0.5)]


@contextmanager
def two_at_once(folder, uri):
    """Two sweeps that log at once; at the end each of their runs must be there once."""
    sweeps = [Sweep(folder / name, uri, name) for name in ("first", "second")]
    with syncing(sweeps[0].place, 0.2), syncing(sweeps[1].place, 0.2):
        yield sweeps
    for sweep in sweeps:
        sweep.check()
