"""Makes a study's runs in MLflow those of a picture: each sync completes what the last one left.

Runs are found by their tags (`dml.tracking.KEYS`), created if missing, and written if their content is not that of the
tag `dml.content`, which is written last. So nothing appears twice.
"""

from __future__ import annotations

import base64
import hashlib
import json
import mimetypes
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

import mlflow
import pandas as pd
from mlflow.entities import Metric, Param, RunTag
from mlflow.entities import Run as Stored

from dml.tracking import RUNNING, Model, Picture, Run, key_of, metric_name, parameters
from dml.tracking.connection import client_of, default_uri, error_line, open_experiment, quiet, runs_of, was_rejected

LARGEST = 64 * 2**20  # bytes; larger files stay on disk only
LONG = ["curve", "diagnostics"]  # columns


def contents(name: str, path: Path) -> Iterator[tuple[str, bytes]]:
    """(path, bytes) of the artifacts that show a file: a page with its figures inside, a Parquet table also as CSV."""
    if not path.is_file() or path.stat().st_size > LARGEST:
        return
    yield name, self_contained(path).encode() if path.suffix == ".html" else path.read_bytes()
    if path.suffix == ".parquet":
        frame = pd.read_parquet(path).drop(columns=LONG, errors="ignore")
        yield f"{name.removesuffix('.parquet')}.csv", frame.to_csv(index=False).encode()


def self_contained(page: Path) -> str:
    """The page with its images, styles and scripts inside, and without its links to other files of the report."""
    text = page.read_text(encoding="utf-8")
    linked = r'(\bsrc|\bsrcset|<link rel="stylesheet" href)="([^"]+)"'
    text = re.sub(linked, lambda match: _inlined(page, match), text)
    return re.sub(r'(<a\b[^>]*?)\s+href="(?!#|[a-z]+:)[^"]*"', r"\1", text)


def _inlined(page: Path, match: re.Match[str]) -> str:
    path = page.parent / unquote(match[2])
    if re.match(r"[a-z]+:", match[2]) or not path.is_file():
        return match[0]
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return f'{match[1]}="data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"'


def register(uri: str, run_id: str, model: str, study: str, name: str) -> int:
    """Register a study's logged model (`models:/m-...`) under a name. Returns its version, the same one each time."""
    client = client_of(uri)
    for version in client.search_model_versions(f"name = '{name}'"):
        if version.tags.get("dml.model") == model:
            return int(version.version)
    try:
        client.create_registered_model(name)
    except mlflow.MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
    tags = {"dml.model": model, "dml.study": study}
    model_id = model.removeprefix("models:/")
    return int(client.create_model_version(name, model, run_id=run_id, tags=tags, model_id=model_id).version)


def version_of(name: str, uri: str, alias: str = "champion") -> int:
    """The version of a registered model that has an alias."""
    with quiet():
        return int(client_of(uri).get_model_version_by_alias(name, alias).version)


PARENT = "mlflow.parentRunId"
METRICS, OTHERS = 800, 90  # metrics, and parameters or tags, per request, within MLflow's limits
RETRY_SECONDS = 1.0


def sync(picture: Picture, uri: str | None = None, patience: float = 0.0) -> str:
    """Bring MLflow up to date with a picture. Never raises an error of MLflow or of the network.

    Parameters
    ----------
    uri : MLflow's backend; None: `MLFLOW_TRACKING_URI`, or SQLite in the working directory.
    patience : seconds in which it is tried again after an error.

    Returns
    -------
    Why MLflow is not up to date; empty if it is.
    """
    uri, until = uri or default_uri(), time.monotonic() + patience
    while picture.runs:
        try:
            with quiet():
                return next(iter(_Writer(picture.study, uri).write(picture.runs)), "")
        except Exception as error:
            if time.monotonic() > until:
                return error_line(uri, error)
        time.sleep(RETRY_SECONDS)
    return ""


class _Writer:
    """Writes a study's runs to a backend, whose runs it has read."""

    def __init__(self, study: str, uri: str) -> None:
        self._study, self._uri, self._client = study, uri, client_of(uri)
        self._experiment = open_experiment(self._client, uri).experiment_id
        stored = runs_of(self._client, self._experiment, f"tags.`dml.study` = '{study}'")
        self._stored = {key_of(run.data.tags.get("dml.kind", ""), run.data.tags): run for run in stored}

    def write(self, runs: Sequence[Run]) -> list[str]:
        """Write the runs that differ. Returns what MLflow or its store of artifacts rejects, which delays no other."""
        problems = []
        for run in runs:
            try:
                problem = self._update(run)
            except Exception as error:
                if not was_rejected(error):
                    raise
                problem = error_line(self._uri, error)
            problems += [f"{problem} ({run.name})"] * bool(problem)
        return problems

    def _update(self, run: Run) -> str:
        parent = self._stored.get(run.parent.key) if run.parent is not None else None
        tags = {"dml.study": self._study, "dml.kind": run.kind, **run.tags}
        tags |= {PARENT: parent.info.run_id} if parent is not None else {}
        params = parameters(run.params)
        files = {part: data for name, path in run.files.items() for part, data in contents(name, path)}
        content, stored = _digest(run, tags, params, files), self._stored.get(run.key)
        if stored is not None and stored.data.tags.get("dml.content") == content:
            return ""
        if stored is not None and any(stored.data.params.get(name, value) != value for name, value in params.items()):
            self._client.delete_run(stored.info.run_id)  # MLflow cannot change a parameter
            stored = None
        if stored is None:
            start = int(1000 * run.start) or None  # None: now
            stored = self._client.create_run(self._experiment, start, tags, run.name)
        self._stored[run.key] = stored
        run_id = stored.info.run_id
        self._log(run_id, [*self._points(run, stored), *self._values(run, stored)], params, tags)
        problem = self._store(run, stored, files)
        if stored.info.run_name != run.name:
            self._client.update_run(run_id, name=run.name)
        if run.status == RUNNING:
            self._client.update_run(run_id, status=RUNNING)
        else:
            self._client.set_terminated(run_id, run.status, stored.info.start_time + int(1000 * run.seconds))
        if not problem:
            self._client.set_tag(run_id, "dml.content", content)  # last: all of it has arrived
        return problem

    def _points(self, run: Run, stored: Stored) -> Iterator[Metric]:
        """The points of the curve that MLflow does not have. Of a step the first score arrives last, and tells it."""
        first = next((name for _, scores in run.curve for name in scores), "")
        history = self._client.get_metric_history(stored.info.run_id, metric_name(first)) if first else ()
        sent, length = {point.step for point in history}, int(1000 * run.seconds)
        last = max((step for step, _ in run.curve), default=0)
        for step, scores in run.curve:
            for name in [] if step in sent else [*scores][::-1]:
                time_of = stored.info.start_time + length * step // max(1, last)
                yield Metric(metric_name(name), scores[name], time_of, step)

    def _values(self, run: Run, stored: Stored) -> Iterator[Metric]:
        """The metrics that are new. Of several values MLflow shows the latest one, whatever the clocks of machines."""
        times = {metric.key: metric.timestamp for metric in stored.data._metric_objs}
        last, now = max((step for step, _ in run.curve), default=0), int(1000 * time.time())
        for name, value in ((metric_name(name), float(value)) for name, value in run.metrics.items()):
            if stored.data.metrics.get(name) != value:
                yield Metric(name, value, max(now, times.get(name, 0) + 1), last)

    def _log(self, run_id: str, metrics: list[Metric], params: Mapping[str, str], tags: Mapping[str, str]) -> None:
        settings, marks = [Param(*pair) for pair in params.items()], [RunTag(*pair) for pair in tags.items()]
        for part in range(max(-(-len(metrics) // METRICS), -(-len(settings) // OTHERS), -(-len(marks) // OTHERS))):
            others = slice(OTHERS * part, OTHERS * (part + 1))
            values = metrics[METRICS * part : METRICS * (part + 1)]
            self._client.log_batch(run_id, values, settings[others], marks[others])

    def _store(self, run: Run, stored: Stored, files: Mapping[str, bytes]) -> str:
        """Store a run's files, and log its model. Returns what is wrong with the store of artifacts, if anything."""
        try:
            for name, data in files.items():
                with tempfile.TemporaryDirectory() as folder:
                    path = Path(folder, Path(name).name)
                    path.write_bytes(data)
                    parent = str(Path(name).parent).removeprefix(".") or None
                    self._client.log_artifact(stored.info.run_id, str(path), parent)
            if run.model is not None:
                self._log_model(run.model, stored)
        except Exception as error:
            return error_line(self._uri, error)
        return ""

    def _log_model(self, model: Model, stored: Stored) -> None:
        run_id, tags = stored.info.run_id, stored.data.tags
        uri = tags.get("dml.model", "")
        if not uri or tags.get("dml.model_key") != model.key:
            from dml.tracking.pyfunc import log_model

            uri = log_model(self._uri, run_id, model)
            self._client.set_tag(run_id, "dml.model", uri)
            self._client.set_tag(run_id, "dml.model_key", model.key)
        if model.register:
            version = register(self._uri, run_id, uri, self._study, model.register)
            self._client.set_tag(run_id, "dml.version", str(version))
            if model.alias:
                self._client.set_registered_model_alias(model.register, model.alias, str(version))


def _digest(run: Run, tags: Mapping[str, str], params: Mapping[str, str], files: Mapping[str, bytes]) -> str:
    content = [run.name, run.status, run.seconds, tags, params, run.metrics, run.curve]
    content += [{name: hashlib.sha256(data).hexdigest() for name, data in files.items()}, run.model]
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=repr).encode()).hexdigest()[:16]
