"""Brings MLflow up to date with a picture of a study, as often as one likes.

Runs are found by their tags (`dml.tracking.KEYS`), created if missing, and updated if their content is another one
than the tag `dml.content` says, which is written last. So nothing appears twice, and after an error the next sync
completes what the last one left. Files and models may be kept elsewhere, so an error of theirs delays no run.
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
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import mlflow
import pandas as pd
from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param, RunTag
from mlflow.entities import Run as Found

from dml.tracking import RUNNING, Model, Picture, Run, key_of, metric_name, parameters
from dml.tracking.connection import client_of, default_uri, open_experiment, quiet, runs_of, said, was_rejected

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
    source, own = client.get_logged_model(model.removeprefix("models:/")), {"dml.model": model, "dml.study": study}
    made = client.create_model_version(name, model, run_id=run_id, tags=own, model_id=source.model_id)
    return int(made.version)


def version_of(name: str, uri: str, alias: str = "champion") -> int:
    """The version of a registered model that has an alias."""
    with quiet():
        return int(client_of(uri).get_model_version_by_alias(name, alias).version)


PARENT = "mlflow.parentRunId"
DIGEST_LENGTH = 36  # MLflow's limit for a dataset's digest
METRICS, PARAMS, TAGS = 800, 100, 100  # per request, within MLflow's limits
ONCE = ("study", "cell", "trial")  # kinds of which no two runs have one key
RETRY_SECONDS = 1.0


@dataclass
class _Known:
    """A run that MLflow has."""

    id: str
    start: int  # milliseconds since the epoch, by the clock of the machine that said so first
    name: str
    status: str = RUNNING
    end: int | None = None
    tags: dict[str, str] = field(default_factory=dict)
    params: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    times: dict[str, int] = field(default_factory=dict)  # of the metrics, in milliseconds
    steps: set[int] | None = field(default_factory=set)  # of its curve; None: ask MLflow


class Mirror:
    """Keeps a study's runs in MLflow up to date.

    It remembers what MLflow has, and looks again after an error.

    Parameters
    ----------
    study : its name.
    uri : MLflow's backend; None: `MLFLOW_TRACKING_URI`, or SQLite in the working directory.
    """

    def __init__(self, study: str, uri: str | None = None):
        self.study, self.uri = study, uri or default_uri()
        self._known: dict[tuple[str, ...], _Known] | None = None
        self.refused: dict[tuple[str, ...], str] = {}  # runs that MLflow rejects, and why
        self._late: Exception | None = None  # of files or a model, which is raised once all runs are written

    def sync(self, picture: Picture) -> int:
        """Write what differs. Returns how many runs were written.

        Raises
        ------
        Exception : of MLflow, or of the network. The next call completes what this one left.
        """
        self._late = None
        with quiet():
            try:
                if self._known is None:
                    self._known = self._look()
                written = sum(self._update(run) for run in picture.runs)
                if self._late is not None:
                    raise self._late
            except BaseException:
                self._known = None  # what arrived is not known
                raise
        return written

    def _look(self) -> dict[tuple[str, ...], _Known]:
        """The study's runs. Of two with one key, which two syncs of one moment created, the second is deleted."""
        self._client = client_of(self.uri)
        self._experiment = open_experiment(self._client, self.uri)
        known: dict[tuple[str, ...], _Known] = {}
        for run in runs_of(self._client, self._experiment.experiment_id, f"tags.`dml.study` = '{self.study}'"):
            kind = run.data.tags.get("dml.kind", "")
            first = known.setdefault(key_of(kind, run.data.tags), _taken(run))
            if kind in ONCE and first.id != run.info.run_id:
                self._client.delete_run(run.info.run_id)
        return known

    def _update(self, run: Run) -> bool:
        """Write a run unless MLflow has it as it is, or rejects it."""
        self.refused.pop(run.key, None)
        try:
            return self._write(run)
        except Exception as error:
            if not was_rejected(error):
                raise
            self._refuse(run.key, run.name, error)
            return False

    def _refuse(self, key: tuple[str, ...], name: str, error: Exception) -> None:
        self.refused[key] = f"{said(self.uri, error)} ({name})"

    def _write(self, run: Run) -> bool:
        known = self._known
        assert known is not None
        parent = known.get(run.parent.key) if run.parent is not None else None
        tags = {"dml.study": self.study, "dml.kind": run.kind, **run.tags} | ({PARENT: parent.id} if parent else {})
        params, files = parameters(run.params), dict(_files(run))
        content = _digest(run, tags, params, files)
        found, replaced = known.get(run.key), None
        if found is not None and found.tags.get("dml.content") == content:
            return False
        if found is not None and any(found.params.get(name, value) != value for name, value in params.items()):
            found, replaced = None, found  # MLflow cannot change a parameter
        if found is None:
            place, start = self._experiment.experiment_id, int(1000 * run.start) or None  # None: now
            info = self._client.create_run(place, start, tags, run.name).info
            found = known[run.key] = _Known(info.run_id, info.start_time, run.name, tags=dict(tags))
        if replaced is not None:
            self._client.delete_run(replaced.id)
        if run.datasets and found.tags.get("dml.datasets") != (text := json.dumps(dict(run.datasets))):
            self._client.log_inputs(found.id, [_dataset(*pair) for pair in run.datasets.items()])
            tags["dml.datasets"] = text
        stored = self._store(run, found, files, tags)
        self._describe(run, found)
        self._log(found, self._metrics(run, found), params, {**tags, "dml.content": content if stored else ""})
        found.steps = {*(found.steps or ()), *(step for step, _ in run.curve)}
        return True

    def _store(self, run: Run, found: _Known, files: Mapping[str, bytes], tags: dict[str, str]) -> bool:
        """Store a run's files and its model, whose tags are added. Returns whether that is done, and notes an error."""
        try:
            self._write_files(found, files)
            if run.model is not None:
                tags |= self._write_model(run.model, found)
        except Exception as error:
            found.end = None  # a model that could not be logged has ended the run
            if was_rejected(error):
                self._refuse(run.key, run.name, error)
            else:
                self._late = self._late or error
            return False
        return True

    def _describe(self, run: Run, found: _Known) -> None:
        end = None if run.status == RUNNING else found.start + int(1000 * run.seconds)
        if found.name != run.name:
            self._client.update_run(found.id, name=run.name)
        if (found.status, found.end) != (run.status, end):
            if end is None:
                self._client.update_run(found.id, status=RUNNING)
            else:
                self._client.set_terminated(found.id, run.status, end)
        found.name, found.status, found.end = run.name, run.status, end

    def _metrics(self, run: Run, found: _Known) -> list[Metric]:
        """The points and values that MLflow does not have."""
        name = next((metric_name(name) for _, scores in run.curve for name in scores), "")
        if found.steps is None:
            history = self._client.get_metric_history(found.id, name) if name in found.metrics else ()
            found.steps = {point.step for point in history}
        last, length = max((step for step, _ in run.curve), default=0), int(1000 * run.seconds)
        # A step is known by its score `name`, which is the last one: what arrived without it is sent again.
        points = [
            Metric(metric_name(own), value, found.start + length * step // max(1, last), step)
            for step, scores in run.curve
            if step not in found.steps
            for own, value in sorted(scores.items(), key=lambda score: metric_name(score[0]) == name)
        ]
        values = {metric_name(name): float(value) for name, value in run.metrics.items()}
        now, times = int(1000 * time.time()), found.times  # the latest of several values counts, whatever the clocks
        new = {n: v for n, v in values.items() if found.metrics.get(n) != v}
        return points + [Metric(n, v, max(now, times.get(n, 0) + 1), last) for n, v in new.items()]

    def _log(
        self, found: _Known, metrics: Sequence[Metric], params: Mapping[str, str], tags: Mapping[str, str]
    ) -> None:
        """Write all that is new, the tag of the content with the last request."""
        content = tags["dml.content"]
        marks = [RunTag(n, v) for n, v in tags.items() if n != "dml.content" and found.tags.get(n) != v]
        settings = [Param(n, v) for n, v in params.items() if n not in found.params]
        parts = [_parts(metrics, METRICS), _parts(settings, PARAMS), _parts(marks, TAGS - 1)]
        requests = [[list(part) for part in request] for request in zip_longest(*parts, fillvalue=())] or [[[], [], []]]
        requests[-1][2].append(RunTag("dml.content", content))
        for request in requests:
            self._client.log_batch(found.id, request[0], request[1], request[2])
        found.metrics |= {metric.key: metric.value for metric in metrics}
        found.times |= {metric.key: metric.timestamp for metric in metrics}
        found.params |= params
        found.tags |= tags

    def _write_files(self, found: _Known, files: Mapping[str, bytes]) -> None:
        for name, data in files.items():
            tag, digest = f"dml.artifact.{name}", hashlib.sha256(data).hexdigest()
            if found.tags.get(tag) != digest:
                with tempfile.TemporaryDirectory() as folder:
                    path = Path(folder, Path(name).name)
                    path.write_bytes(data)
                    self._client.log_artifact(found.id, str(path), str(Path(name).parent).removeprefix(".") or None)
                self._client.set_tag(found.id, tag, digest)
                found.tags[tag] = digest

    def _write_model(self, model: Model, found: _Known) -> dict[str, str]:
        """Log and register a run's model. Returns tags of the run."""
        from dml.tracking.pyfunc import log_model

        tags = {}
        uri = found.tags.get("dml.model", "")
        if not uri or found.tags.get("dml.model_key") != model.key:
            uri, found.end = log_model(self.uri, found.id, model), None  # it ends the run
            tags = {"dml.model": uri, "dml.model_key": model.key}
        if model.register:
            version = register(self.uri, found.id, uri, self.study, model.register)
            tags["dml.version"] = str(version)
            if model.alias:
                self._client.set_registered_model_alias(model.register, model.alias, str(version))
        return tags


def sync(picture: Picture, uri: str | None = None, patience: float = 0.0, mirror: Mirror | None = None) -> str:
    """Bring MLflow up to date with a picture, once. Never raises an error of MLflow or of the network.

    Parameters
    ----------
    uri : MLflow's backend; None: `MLFLOW_TRACKING_URI`, or SQLite in the working directory.
    patience : seconds in which it is tried again after an error.
    mirror : remembers what MLflow has.

    Returns
    -------
    Why MLflow is not up to date; empty if it is.
    """
    if not picture.runs:
        return ""
    mirror, until = mirror or Mirror(picture.study, uri), time.monotonic() + patience
    while True:
        try:
            mirror.sync(picture)
            return next(iter(mirror.refused.values()), "")
        except Exception as error:
            if time.monotonic() > until:
                return said(mirror.uri, error)
        time.sleep(RETRY_SECONDS)


def _taken(run: Found) -> _Known:
    info, data = run.info, run.data
    return _Known(
        info.run_id,
        info.start_time,
        info.run_name,
        info.status,
        None if info.status == RUNNING else info.end_time,
        dict(data.tags),
        dict(data.params),
        dict(data.metrics),
        {metric.key: metric.timestamp for metric in data._metric_objs},
        steps=None,
    )


def _files(run: Run) -> Iterator[tuple[str, bytes]]:
    for name, path in run.files.items():
        yield from contents(name, path)


def _digest(run: Run, tags: Mapping[str, str], params: Mapping[str, str], files: Mapping[str, bytes]) -> str:
    """Of everything that a run should have."""
    content = [run.name, run.status, run.seconds, tags, params, run.metrics, run.curve, run.datasets]
    content += [{name: hashlib.sha256(data).hexdigest() for name, data in files.items()}, run.model]
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=repr).encode()).hexdigest()[:16]


def _dataset(name: str, digest: str) -> DatasetInput:
    return DatasetInput(
        Dataset(name, digest[:DIGEST_LENGTH], "dml", digest), [InputTag("mlflow.data.context", "training")]
    )


def _parts(values: Sequence[Any], size: int) -> list[Sequence[Any]]:
    return [values[start : start + size] for start in range(0, len(values), size)]
