"""A process beside a sweep that keeps MLflow up to date, and cannot delay or end the sweep."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from dml.discovery import installed
from dml.pipeline.folders import AUDIT, REPORT, RESULTS, STORE, STUDIES

SECONDS = 20.0  # between two syncs


@dataclass(frozen=True)
class Place:
    """Where a study and its results are; paths are relative to the working directory."""

    study: str  # the file
    data: str
    store: str
    results: str  # of this study
    audit: str
    page: str
    uri: str | None = None  # MLflow's backend; None: `MLFLOW_TRACKING_URI`, or SQLite in the working directory

    @classmethod
    def of(cls, study: str) -> Place:
        """That of a study of the project in the working directory."""
        file, page = STUDIES / f"{study}.yaml", REPORT / "studies" / f"{study}.html"
        return cls(*map(str, (file, Path("data", study), STORE, RESULTS / study, AUDIT / study, page)))


def tracks() -> bool:
    """Whether MLflow is kept up to date: not where it is not installed, nor with `DML_TRACKING=off`."""
    setting = os.environ.get("DML_TRACKING", "on")
    if setting not in ("on", "off"):
        raise ValueError(f"DML_TRACKING: expected on or off, got {setting!r}")
    return setting == "on" and installed("mlflow")


@contextmanager
def syncing(place: Place, seconds: float = SECONDS) -> Iterator[None]:
    """Sync MLflow every so many seconds while a block runs, and once when it ended, if the project `tracks`.

    That last sync tries again for 30 seconds, or `DML_TRACKING_PATIENCE`, if the server does not answer.
    """
    if not tracks():
        yield
        return
    # By its name: the stage `sweep` does not import, and so does not depend on, the code of the report.
    command = [sys.executable, "-P", "-m", "dml.pipeline.sync", json.dumps(asdict(place)), str(seconds)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    try:
        yield
    finally:
        try:
            process.communicate()  # the end of its input tells it that the block ended
        except BaseException:
            process.kill()
            raise
