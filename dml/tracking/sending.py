"""The thread that sends the spool's records to MLflow, so that a slow or unreachable server delays no trial."""

from __future__ import annotations

import contextlib
import logging
import random
import re
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

from dml.tracking.records import RecordWriter
from dml.tracking.runs import StudyRuns
from dml.tracking.spool import Spool

logger = logging.getLogger(__name__)

RETRY_SECONDS = (0.5, 10.0)  # the first and the longest wait for an unreachable server
POLL_SECONDS = 0.2
CONFLICTS = 5  # times that a request is repeated because of another sweep's at the same moment
CONFLICT = re.compile(r"UniqueViolation|UNIQUE constraint|IntegrityError|Duplicate entry|InterfaceError")
REJECTED = ("INVALID_PARAMETER_VALUE", "BAD_REQUEST", "RESOURCE_ALREADY_EXISTS")


def open_runs(runs: StudyRuns) -> None:
    """Open a study's runs; again if another sweep that begins at the same moment is in the way."""
    for attempt in range(CONFLICTS):
        try:
            with quiet():
                return runs.open()
        except Exception as error:
            if not is_conflict(error) or attempt == CONFLICTS - 1:
                raise
            time.sleep(RETRY_SECONDS[0] * (1 + random.random()))
    return None


class SendingThread:
    """Sends records in order, each until the server accepts or rejects it.

    Parameters
    ----------
    spool : the records to send.
    runs : the study's runs. They are opened again after an outage, because a record may have arrived unconfirmed.
    """

    def __init__(self, spool: Spool, runs: StudyRuns):
        self._spool, self._runs, self._writer = spool, runs, RecordWriter(runs)
        self.down = False  # whether the server could not be reached at the last attempt
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._send_all, name="tracking", daemon=True)
        self._thread.start()

    def close(self, patience: float) -> bool:
        """Send the remaining records; give up once the server has been down for `patience` seconds.

        Returns
        -------
        Whether the thread ended: the spool is empty.
        """
        self._closing.set()
        since = None
        while self._thread.is_alive():
            self._thread.join(timeout=POLL_SECONDS)
            since = (since or time.monotonic()) if self.down else None
            if since is not None and time.monotonic() - since > patience:
                break
        return not self._thread.is_alive()

    def _send_all(self) -> None:
        wait, conflicts = RETRY_SECONDS[0], 0
        while True:
            record = self._spool.peek(timeout=POLL_SECONDS)
            if record is None:
                if self._closing.is_set():
                    return
                continue
            try:
                with quiet():
                    if self.down:
                        self._runs.open()
                    self._writer.write(record)
            except Exception as error:
                if is_conflict(error) and conflicts < CONFLICTS:
                    conflicts += 1
                    time.sleep(wait)
                    self.down = True  # so that the runs are listed again: the other request may have made this one's
                    continue
                if was_rejected(error):
                    logger.error("MLflow rejects a record, which is skipped: %s", error)
                elif isinstance(error, OSError) and record["kind"] == "model" and not Path(record["folder"]).is_dir():
                    logger.error("the model folder %s is missing, so the model is not logged", record["folder"])
                else:
                    if not self.down:
                        logger.warning(
                            "MLflow at %s is unreachable; records wait in %s", self._runs.uri, self._spool.path
                        )
                    self.down = True
                    time.sleep(wait)
                    wait = min(2 * wait, RETRY_SECONDS[1])
                    continue
            self.down, wait, conflicts = False, RETRY_SECONDS[0], 0
            self._spool.sent()


def was_rejected(error: Exception) -> bool:
    """Whether MLflow answered that a request is invalid, so that sending it again cannot succeed."""
    return getattr(error, "error_code", "") in REJECTED


def is_conflict(error: Exception) -> bool:
    """Whether the server's database refused a request that met another one, so that repeating it succeeds.

    MLflow checks and then inserts, for example a dataset that two studies share; it answers `BAD_REQUEST`.
    """
    return was_rejected(error) and CONFLICT.search(str(error)) is not None


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep alembic's and MLflow's log messages out of the sweep's progress display."""
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
