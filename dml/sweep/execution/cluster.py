"""Connects to a Ray cluster, or starts Ray on this machine."""

from __future__ import annotations

import logging
import os
from typing import Any

from dml.config import ResourcesSection
from dml.files import sockets_fit
from dml.sweep.execution.ping import problem

QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "RAY_DEDUP_LOGS": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # hide GPUs from trials that request none, without a warning
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_TRAIN_V2_ENABLED": "1",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",  # no CSV, JSON and TensorBoard files per trial
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # `run` handles Ctrl-C
    "TUNE_GLOBAL_CHECKPOINT_S": str(10**9),  # never: the plan is rebuilt from the store, not from Tune's state
    "TUNE_PRINT_ALL_TRIAL_ERRORS": "0",
    "TUNE_WARN_INSUFFICENT_RESOURCE_THRESHOLD_S": "60",
}
SESSION = 70  # bytes of `/ray/session_2026-11-28_15-43-46_584926_9593/sockets/plasma_store`, and some more
STARTS = 3  # attempts to start Ray
ADDRESS = "resources.address or RAY_ADDRESS"
TOKEN = "it asks for a token: set RAY_AUTH_MODE=token, with the token in RAY_AUTH_TOKEN or ~/.ray/auth_token"


def connect(resources: ResourcesSection) -> None:
    """Connect to the cluster at `resources.address` or `RAY_ADDRESS`, or start Ray on this machine.

    Does nothing if this process is connected already.

    Raises
    ------
    ConnectionError : no cluster answers at the address.
    """
    os.environ.update({name: os.environ.get(name, value) for name, value in QUIET.items()})
    import ray  # reads the settings above when imported

    logging.getLogger("ray").setLevel(logging.ERROR)
    if ray.is_initialized():
        return
    cluster = address(resources)
    if cluster is None:
        _start()
        return
    check(resources)
    try:
        ray.init(address=cluster, job_config=_job(), log_to_driver=False, logging_level=logging.ERROR)
    except ConnectionError as error:
        raise ConnectionError(f"no Ray cluster answers at {cluster!r} ({ADDRESS}, or {TOKEN})") from error


def check(resources: ResourcesSection) -> None:
    """Check that the cluster answers, if there is one, without connecting to it.

    Raises
    ------
    ConnectionError : none answers at its address.
    """
    cluster = address(resources)
    if cluster is not None and (why := problem(cluster)):
        raise ConnectionError(f"no Ray cluster answers at {cluster!r} ({ADDRESS}): {why}")


def _start() -> None:
    """Start Ray on this machine, again if that took longer than the 30 s for which Ray waits: a busy machine may."""
    import ray

    for left in reversed(range(STARTS)):
        try:
            ray.init(
                address="local",  # never a cluster that happens to run on this machine
                num_cpus=cpus(),
                object_store_memory=10**8,  # only for results: images are mapped from the packed files
                include_dashboard=False,
                job_config=_job(),
                _temp_dir=_folder(),
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
            return
        except Exception as error:  # Ray raises no class of its own
            ray.shutdown()
            if left == 0 or "timed out during startup" not in str(error):
                raise


def _job() -> Any:
    """Settings with which Ray does not put the working directory first on its workers' path.

    A module of a project, such as `random.py`, would hide Python's. What needs the project's modules is given the path.
    """
    from ray.job_config import JobConfig

    return JobConfig(_client_job=True)


def _folder() -> str | None:
    """Where Ray keeps its session if `TMPDIR` is too long for the session's sockets; None: there."""
    own = os.environ.get("RAY_TMPDIR") or os.environ.get("TMPDIR") or "/tmp"  # as Ray does
    return None if sockets_fit(own, SESSION) else "/tmp/ray"


def address(resources: ResourcesSection) -> str | None:
    """The cluster's address; None: use this machine."""
    found = resources.address or os.environ.get("RAY_ADDRESS")
    return found if found and found != "local" else None


def cpus() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
