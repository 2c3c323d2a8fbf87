"""Ray, quietly: a cluster by its address, or this machine; and how many trials fit it."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping

from dml.config import ResourcesSection

QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "RAY_DEDUP_LOGS": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # a trial without a GPU sees none, and Ray does not warn of it
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_TRAIN_V2_ENABLED": "1",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",  # no CSV, JSON and TensorBoard files a trial
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # `run` has its own
    "TUNE_GLOBAL_CHECKPOINT_S": str(10**9),  # Tune's own state is never used: the plan is rebuilt from the store
    "TUNE_PRINT_ALL_TRIAL_ERRORS": "0",
    "TUNE_WARN_INSUFFICENT_RESOURCE_THRESHOLD_S": "60",
}

WAITING = 16  # trials that may wait in a cluster for a node
MOST_STARTING = 64  # workers that start at once


def connect(resources: ResourcesSection) -> None:
    """Join the cluster of the study or of `RAY_ADDRESS`, or start Ray on this machine; nothing where it runs already.

    Raises
    ------
    ConnectionError : there is no cluster at the address.
    """
    os.environ.update({name: os.environ.get(name, value) for name, value in QUIET.items()})
    import ray  # after the settings above, which it reads when imported

    logging.getLogger("ray").setLevel(logging.ERROR)
    if ray.is_initialized():
        return
    there = address(resources)
    if there is None:
        ray.init(
            address="local",  # not whatever cluster happens to run on this machine
            num_cpus=cpus(),
            object_store_memory=10**8,  # results only: images are mapped from the packed files
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
        return
    try:
        ray.init(address=there, log_to_driver=False, logging_level=logging.ERROR)
    except ConnectionError as error:
        raise ConnectionError(f"no Ray cluster answers at {there!r} (resources.address or RAY_ADDRESS)") from error


def address(resources: ResourcesSection) -> str | None:
    """The cluster's address; none: this machine."""
    return resources.address or os.environ.get("RAY_ADDRESS") or None


def cpus() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def slots(resources: ResourcesSection, refresh: float = 5.0) -> Callable[[], int]:
    """How many trials to give Ray now, asked again every `refresh` seconds: nodes come and go.

    On this machine, as many as fit. On a cluster a few more, which wait there and make an autoscaler add nodes.
    """
    import ray

    ahead = WAITING if address(resources) else 0
    known, asked = 0, -refresh

    def count() -> int:
        nonlocal known, asked
        if time.monotonic() - asked > refresh:
            asked = time.monotonic()
            nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
            known = max(1, sum(_fits(resources, node) for node in nodes) + ahead)
        return min(known, resources.concurrent or known)

    # Ray Tune's own limit on trials that wait for a worker to start; without it workers start one after another.
    os.environ["TUNE_MAX_PENDING_TRIALS_PG"] = str(min(count(), MOST_STARTING))
    return count


def gpus(resources: ResourcesSection) -> Callable[[int], str]:
    """What a number of running trials takes of the GPUs, in words; empty where trials take none."""
    import ray

    if not resources.gpus_per_trial:
        return lambda running: ""
    total = sum(node["Resources"].get("GPU", 0) for node in ray.nodes() if node["Alive"])
    return lambda running: f"{running * resources.gpus_per_trial:g} of {total:g} GPUs taken"


def check(resources: ResourcesSection) -> None:
    """Raise a ValueError where a trial fits no node of this machine; say so where a cluster may still grow one."""
    import ray

    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if any(_fits(resources, node) for node in nodes):
        return
    there = ", ".join(f"{node.get('CPU', 0):g} CPUs and {node.get('GPU', 0):g} GPUs" for node in nodes)
    problem = (
        f"resources: a trial takes cpus_per_trial {resources.cpus_per_trial:g} and gpus_per_trial "
        f"{resources.gpus_per_trial:g}, but no node has that; there are: {there}"
    )
    if address(resources) is None:
        raise ValueError(problem)
    print(f"{problem}. Waiting for the cluster to grow.", flush=True)


def _fits(resources: ResourcesSection, node: Mapping[str, float]) -> int:
    needed = {"CPU": resources.cpus_per_trial, "GPU": resources.gpus_per_trial}
    return min(int(node.get(kind, 0) / amount + 1e-9) for kind, amount in needed.items() if amount)
