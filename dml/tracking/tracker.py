"""The only writer to MLflow: takes a sweep's records and sends them from its own thread.

A record is on disk (`Spool`) before it is sent, at least once, by `SendingThread`. `RecordWriter` and `StudyRuns` make
sure that it appears once. Records that an unreachable server cannot accept wait in the spool.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dml.tracking.spool import Spool
from dml.tracking.view import default_uri

PATIENCE_SECONDS = 30.0  # for an unreachable server when a sweep ends
ENVIRONMENT = {  # of MLflow, unless the user sets it
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",  # `SendingThread` retries
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
}


class TrackingError(ConnectionError):
    """The tracking server cannot be reached. The message contains its URI."""


class Tracker:
    """One study's runs in MLflow.

    Parameters
    ----------
    study : the parent run's name.
    spool : the file of records that are not sent yet.
    uri : MLflow's backend; None: `MLFLOW_TRACKING_URI`, or SQLite in the working directory.
    settings : the study's settings, shown as tags of the parent run.
    tags : tags of every run, such as the git commit.
    datasets : name -> digest of each dataset.

    Raises
    ------
    TrackingError : the server cannot be reached now. Later outages only delay records.
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
        for name, value in ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        # MLflow takes seconds to import, and reads the variables above.
        from dml.tracking.runs import StudyRuns
        from dml.tracking.sending import SendingThread, open_runs, quiet, was_rejected

        self.uri = uri or default_uri()
        try:
            with quiet():
                self._runs = StudyRuns(self.uri, study, dict(settings or {}), dict(tags or {}), dict(datasets or {}))
                open_runs(self._runs)
        except Exception as error:
            if was_rejected(error):
                raise
            raise TrackingError(
                f"no MLflow tracking server answers at {self.uri} (MLFLOW_TRACKING_URI): {_first_line(error)}"
            ) from error
        self._spool = Spool(spool)
        self._thread = SendingThread(self._spool, self._runs)

    @property
    def unsent(self) -> int:
        """The number of records that are not sent yet."""
        return len(self._spool)

    def trial(self, trial: str, key: str, record: Mapping[str, Any]) -> None:
        """Record a trial that ended.

        Parameters
        ----------
        trial : the trial's identity in the study.
        key : the trial's key.
        record : `name`, `status` (FINISHED, FAILED or KILLED), `params` (nested), `tags`, `curve` [[step, {name:
            value}]], `metrics` {name: value}, `start` and `end` in seconds since the epoch.
        """
        if not self._runs.is_complete(trial, key):
            self._spool.append({"kind": "trial", "trial": trial, "key": key, **record})

    def running(self, trial: str, key: str, record: Mapping[str, Any]) -> None:
        """Record a running trial's curve so far: a record as in `trial`, without `status`, `metrics` and `end`.

        Does nothing while the server is down: the curve is recorded again when the trial ends.
        """
        if not self._thread.down and not self._runs.is_complete(trial, key):
            self._spool.append({"kind": "running", "trial": trial, "key": key, "at": time.time(), **record})

    def cell(self, cell: str, record: Mapping[str, Any]) -> None:
        """Record a cell that ended.

        Parameters
        ----------
        cell : its name.
        record : `status`, `params` (nested), `metrics` {name: value}, `tags`, `start` and `end` in
            seconds since the epoch. A record with other `params` than before replaces the cell's run.
        """
        self._spool.append({"kind": "cell", "cell": cell, "at": time.time(), **record})

    def study(self, record: Mapping[str, Any]) -> None:
        """Record a study's outcome: `metrics` {name: value}, `tags`, and the `columns` of the table of its cells, as in
        `dml.tracking.view.view_state`.
        """
        self._spool.append({"kind": "study", "at": time.time(), **record})

    def artifact(self, path: Path, folder: str = "") -> None:
        """Record a file of the study in a folder of its run's artifacts. One that has not changed is not sent again."""
        self._spool.append({"kind": "artifact", "path": str(Path(path).resolve()), "folder": folder})

    def model(
        self,
        folder: Path,
        loader: str,
        key: str,
        image_shape: list[int],
        embedding_size: int,
        register: str | None = None,
    ) -> None:
        """Record the best model.

        Parameters
        ----------
        folder : contains the model.
        loader : dotted path of a function or class; `loader(folder)` maps images to embeddings.
        key : the key of the trial that trained it.
        image_shape : (H, W, C), or (C,) for vectors.
        embedding_size : D.
        register : the name under which it is registered; None: it is not.
        """
        self._spool.append(
            {
                "kind": "model",
                "folder": str(Path(folder).resolve()),
                "loader": loader,
                "key": key,
                "image_shape": list(image_shape),
                "embedding_size": embedding_size,
                "register": register,
            }
        )

    def close(self, status: str = "FINISHED") -> int:
        """End the parent run and send the remaining records.

        Waits at most 30 seconds for an unreachable server, or as long as the variable `DML_TRACKING_PATIENCE` says.

        Returns
        -------
        The number of unsent records; the study's next run sends them.
        """
        self._spool.append({"kind": "end", "status": status, "end": time.time()})
        ended = self._thread.close(float(os.environ.get("DML_TRACKING_PATIENCE", PATIENCE_SECONDS)))
        left = len(self._spool)
        if ended:
            self._spool.close()
        return left


def _first_line(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return text[0][:300] if text else type(error).__name__
