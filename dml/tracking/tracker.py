"""MLflow's one writer: a parent run a study, a child run a trial, sent from a thread that never holds up a trial.

A record is sent at least once and appears once: a child run carries the tags `dml.trial` (its identity in the study)
and `dml.key`, and is looked up by them before it is made; metrics carry the trial's own times, so that a second copy
equals the first. What a server does not take now waits in the spool and is sent when it is back.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dml.tracking.names import metric_name, parameters
from dml.tracking.spool import Spool

logger = logging.getLogger(__name__)

DEFAULT_URI = "sqlite:///mlflow.db"
EXPERIMENT = "dml"
DIGEST_LENGTH = 36  # MLflow's limit
BATCH = 1000  # metrics in one request, MLflow's limit
RETRY_SECONDS = (0.5, 10.0)  # the first and the longest wait for a server that is down
PATIENCE_SECONDS = 30.0  # for a server that is down when a sweep ends
REFUSED = ("INVALID_PARAMETER_VALUE", "BAD_REQUEST", "RESOURCE_ALREADY_EXISTS")
REQUESTS = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1", "MLFLOW_HTTP_REQUEST_TIMEOUT": "10"}  # the spool does the waiting
BARS = {"MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false"}


class TrackingError(ConnectionError):
    """A tracking server that cannot be reached, named."""


class Tracker:
    """One study's runs in MLflow.

    Parameters
    ----------
    study : the parent run's name.
    spool : the file where records wait.
    uri : MLflow's backend; none: `MLFLOW_TRACKING_URI`, or SQLite in the working directory.
    settings : the study's own settings, as the parent run's parameters.
    tags : tags of every run, such as the git commit.
    datasets : name -> digest of each dataset.

    Raises
    ------
    TrackingError : nothing answers there now. Later outages only delay what is sent.
    """

    def __init__(
        self,
        study: str,
        spool: Path,
        uri: str | None = None,
        settings: Mapping[str, Any] | None = None,
        tags: Mapping[str, str] | None = None,
        datasets: Mapping[str, str] | None = None,
    ):
        for name, value in {**REQUESTS, **BARS}.items():
            os.environ.setdefault(name, value)
        import mlflow  # seconds: only where something is tracked

        self.uri = uri or os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI
        self._study, self._settings, self._tags = study, dict(settings or {}), dict(tags or {})
        self._datasets = dict(datasets or {})
        self._experiment = self._parent = ""
        self._runs: dict[tuple[str, str], tuple[str, bool]] = {}  # (trial, key) -> run id, whether it is complete
        self._shown: dict[str, set[int]] = {}  # run id of a trial under way -> the curve's steps that it has
        self.down = False
        try:
            with _quiet():
                self._client = mlflow.MlflowClient(tracking_uri=self.uri)
                self._open()
        except Exception as error:
            if getattr(error, "error_code", "") in REFUSED:
                raise
            raise TrackingError(
                f"no MLflow tracking server answers at {self.uri} (MLFLOW_TRACKING_URI): {_short(error)}"
            ) from error
        self._spool = Spool(spool)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._send_all, name="tracking", daemon=True)
        self._thread.start()

    @property
    def unsent(self) -> int:
        """Records that wait."""
        return len(self._spool)

    def trial(self, trial: str, key: str, record: Mapping[str, Any]) -> None:
        """Hand in a trial that ended.

        record : `name`, `status` (FINISHED, FAILED or KILLED), `params` (nested), `tags`, `curve` [[step, {name:
        value}]], `metrics` {name: value}, `start` and `end` in seconds since the epoch.
        """
        if not self._runs.get((trial, key), ("", False))[1]:
            self._spool.append({"kind": "trial", "trial": trial, "key": key, **record})

    def running(self, trial: str, key: str, record: Mapping[str, Any]) -> None:
        """Hand in the curve so far of a trial under way: a `trial` record without `status`, `metrics` and `end`.

        A server that is away learns of it when the trial has ended: nothing of it waits in the spool.
        """
        if not self.down and not self._runs.get((trial, key), ("", False))[1]:
            self._spool.append({"kind": "running", "trial": trial, "key": key, "at": time.time(), **record})

    def model(self, folder: Path, loader: str, key: str, image_shape: list[int], embedding_size: int) -> None:
        """Hand in the best model: what `loader` (a dotted path) makes of `folder` turns images to embeddings."""
        self._spool.append(
            {
                "kind": "model",
                "folder": str(Path(folder).resolve()),
                "loader": loader,
                "key": key,
                "image_shape": list(image_shape),
                "embedding_size": embedding_size,
            }
        )

    def close(self, status: str = "FINISHED", metrics: Mapping[str, float] | None = None) -> int:
        """End the parent run and send what waits, for at most `DML_TRACKING_PATIENCE` seconds once the server is down.

        Returns
        -------
        The number of records that still wait; the study's next run sends them.
        """
        self._spool.append({"kind": "end", "status": status, "metrics": dict(metrics or {}), "end": time.time()})
        self._closing.set()
        patience = float(os.environ.get("DML_TRACKING_PATIENCE", PATIENCE_SECONDS))
        since = None
        while self._thread.is_alive():
            self._thread.join(timeout=0.2)
            since = (since or time.monotonic()) if self.down else None
            if since is not None and time.monotonic() - since > patience:
                break
        left = len(self._spool)
        if not self._thread.is_alive():
            self._spool.close()
        return left

    def _send_all(self) -> None:
        wait = RETRY_SECONDS[0]
        while True:
            record = self._spool.peek(timeout=0.2)
            if record is None:
                if self._closing.is_set():
                    return
                continue
            try:
                with _quiet():
                    if self.down:
                        self._open()  # what was on its way when the server went down may have arrived
                    getattr(self, f"_send_{record['kind']}")(record)
            except Exception as error:
                if getattr(error, "error_code", "") in REFUSED:
                    logger.error("MLflow refuses a record, which is left out: %s", error)
                elif isinstance(error, OSError) and record["kind"] == "model" and not Path(record["folder"]).is_dir():
                    logger.error("the model %s is gone", record["folder"])
                else:
                    if not self.down:
                        logger.warning("MLflow at %s is away; records wait in %s", self.uri, self._spool.path)
                    self.down = True
                    time.sleep(wait)
                    wait = min(2 * wait, RETRY_SECONDS[1])
                    continue
            self.down, wait = False, RETRY_SECONDS[0]
            self._spool.sent()

    def _open(self) -> None:
        """Find or make the experiment and the study's parent run, and learn which trials are there."""
        client = self._client
        experiment = client.get_experiment_by_name(EXPERIMENT)
        if experiment is None:
            local = self.uri.startswith("sqlite")
            place = Path("mlartifacts").resolve().as_uri() if local else None
            self._experiment = client.create_experiment(EXPERIMENT, artifact_location=place)
        else:
            self._experiment = experiment.experiment_id
            if experiment.lifecycle_stage == "deleted":
                client.restore_experiment(self._experiment)
        named = f"tags.`dml.study` = '{self._study}' and tags.`dml.kind` = 'study'"
        found = client.search_runs([self._experiment], named, max_results=1)
        if found:
            self._parent = found[0].info.run_id
            if found[0].info.status != "RUNNING":
                client.update_run(self._parent, status="RUNNING")
        else:
            tags = {"dml.study": self._study, "dml.kind": "study", **self._tags}
            self._parent = client.create_run(self._experiment, run_name=self._study, tags=tags).info.run_id
        self._describe_parent()
        self._runs, self._shown = {}, {}
        token = None
        while True:
            children = f"tags.`mlflow.parentRunId` = '{self._parent}'"
            page = client.search_runs([self._experiment], children, max_results=1000, page_token=token)
            for run in page:
                identity = run.data.tags.get("dml.trial", ""), run.data.tags.get("dml.key", "")
                self._runs[identity] = run.info.run_id, run.info.status != "RUNNING"
            token = page.token
            if not token:
                return

    def _describe_parent(self) -> None:
        from mlflow.entities import Dataset, DatasetInput, InputTag, RunTag

        tags = {**self._tags, **{f"dml.setting.{k}": v for k, v in parameters(self._settings).items()}}
        self._client.log_batch(self._parent, tags=[RunTag(k, str(v)) for k, v in tags.items()])
        context = [InputTag("mlflow.data.context", "training")]
        inputs = [
            DatasetInput(Dataset(name, digest[:DIGEST_LENGTH], "dml", digest), context)
            for name, digest in self._datasets.items()
        ]
        if inputs:
            self._client.log_inputs(self._parent, inputs)

    def _send_trial(self, record: Mapping[str, Any]) -> None:
        from mlflow.entities import Metric

        run_id, complete = self._run_of(record)
        if complete:
            return
        start, end = int(1000 * record["start"]), int(1000 * record["end"])
        last = max((step for step, _ in record["curve"]), default=0)
        metrics = self._new_points(run_id, record["curve"], lambda step: start + (end - start) * step // max(1, last))
        metrics += [Metric(metric_name(name), value, end, last) for name, value in record["metrics"].items()]
        self._log(run_id, record, metrics)
        self._client.set_terminated(run_id, status=record["status"], end_time=end)
        if "dml.error" in record["tags"]:  # which a run made while the trial ran does not have
            self._client.set_tag(run_id, "dml.error", record["tags"]["dml.error"])
        self._runs[record["trial"], record["key"]] = run_id, True
        self._shown.pop(run_id, None)

    def _send_running(self, record: Mapping[str, Any]) -> None:
        run_id, complete = self._run_of(record)
        if not complete:
            metrics = self._new_points(run_id, record["curve"], lambda step: int(1000 * record["at"]))
            self._log(run_id, record, metrics)
            self._shown[run_id] = {step for step, _ in record["curve"]}

    def _run_of(self, record: Mapping[str, Any]) -> tuple[str, bool]:
        """The trial's run, made where there is none, and whether it is complete."""
        identity = record["trial"], record["key"]
        if identity not in self._runs:
            tags = {
                "mlflow.parentRunId": self._parent,
                "dml.study": self._study,
                "dml.kind": "trial",
                "dml.trial": record["trial"],
                "dml.key": record["key"],
                **self._tags,
                **record["tags"],
            }
            start, name = int(1000 * record["start"]), record["name"]
            run = self._client.create_run(self._experiment, start_time=start, run_name=name, tags=tags)
            self._runs[identity] = run.info.run_id, False
            self._shown[run.info.run_id] = set()
        return self._runs[identity]

    def _new_points(self, run_id: str, curve: Sequence[Any], time_of: Callable[[int], int]) -> list[Any]:
        """The curve's metrics that a run does not have yet."""
        from mlflow.entities import Metric

        if run_id not in self._shown:  # a run of an earlier process, which was killed: the server knows what it has
            names = [metric_name(name) for _, scores in curve[:1] for name in scores][:1]
            points = [point for name in names for point in self._client.get_metric_history(run_id, name)]
            self._shown[run_id] = {point.step for point in points}
        return [
            Metric(metric_name(name), value, time_of(step), step)
            for step, scores in curve
            if step not in self._shown[run_id]
            for name, value in scores.items()
        ]

    def _log(self, run_id: str, record: Mapping[str, Any], metrics: Sequence[Any]) -> None:
        from mlflow.entities import Param

        params = [Param(name, value) for name, value in parameters(record["params"]).items()]
        self._client.log_batch(run_id, metrics=metrics[:BATCH], params=params[:100])
        for first in range(BATCH, len(metrics), BATCH):
            self._client.log_batch(run_id, metrics=metrics[first : first + BATCH])

    def _send_model(self, record: Mapping[str, Any]) -> None:
        from dml.tracking.pyfunc import log_model

        tags = self._client.get_run(self._parent).data.tags
        if tags.get("dml.model_key") == record["key"]:
            return
        log_model(self.uri, self._parent, record)
        self._client.set_tag(self._parent, "dml.model_key", record["key"])

    def _send_end(self, record: Mapping[str, Any]) -> None:
        for name, value in record["metrics"].items():
            self._client.log_metric(self._parent, metric_name(name), value, timestamp=int(1000 * record["end"]))
        self._client.set_terminated(self._parent, status=record["status"], end_time=int(1000 * record["end"]))


@contextlib.contextmanager
def _quiet():
    """Keep alembic's and MLflow's own notes out of the progress."""
    names = ("alembic", "mlflow", "urllib3")
    levels = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="mlflow")
            yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def _short(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return text[0][:300] if text else type(error).__name__
