"""Connects to a Ray cluster or starts Ray on this machine, and counts how many trials fit."""

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
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # hide GPUs from trials that request none, without a warning
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_TRAIN_V2_ENABLED": "1",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",  # no CSV, JSON and TensorBoard files per trial
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # `run` handles Ctrl-C
    "TUNE_GLOBAL_CHECKPOINT_S": str(10**9),  # never: the plan is rebuilt from the store, not from Tune's state
    "TUNE_PRINT_ALL_TRIAL_ERRORS": "0",
    "TUNE_WARN_INSUFFICENT_RESOURCE_THRESHOLD_S": "60",
}

QUEUED = 16  # trials that may wait in a cluster for a node
MAX_STARTING = 64  # workers that start at the same time
REFRESH_SECONDS = 5.0  # between two counts of the cluster's nodes


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
        ray.init(
            address="local",  # never a cluster that happens to run on this machine
            num_cpus=cpus(),
            object_store_memory=10**8,  # only for results: images are mapped from the packed files
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
        return
    try:
        ray.init(address=cluster, log_to_driver=False, logging_level=logging.ERROR)
    except ConnectionError as error:
        raise ConnectionError(f"no Ray cluster answers at {cluster!r} (resources.address or RAY_ADDRESS)") from error


def address(resources: ResourcesSection) -> str | None:
    """The cluster's address; None: use this machine."""
    return resources.address or os.environ.get("RAY_ADDRESS") or None


def cpus() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def slots(resources: ResourcesSection) -> Callable[[], int]:
    """A function that returns how many trials to give to Ray now.

    On this machine that is as many as fit. On a cluster it is `QUEUED` more: they make an autoscaler add nodes. Nodes
    are counted again every `REFRESH_SECONDS`, since they come and go.
    """
    import ray

    queued = QUEUED if address(resources) else 0
    known, asked = 0, -REFRESH_SECONDS

    def count() -> int:
        nonlocal known, asked
        if time.monotonic() - asked > REFRESH_SECONDS:
            asked = time.monotonic()
            nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
            known = max(1, sum(_fits(resources, node) for node in nodes) + queued)
        return min(known, resources.concurrent or known)

    # How many workers Ray Tune starts at the same time. By default they start one after another.
    os.environ["TUNE_MAX_PENDING_TRIALS_PG"] = str(min(count(), MAX_STARTING))
    return count


def gpus(resources: ResourcesSection) -> Callable[[int], str]:
    """A function from the number of running trials to text such as `1.5 of 2 GPUs taken`; empty without GPUs."""
    import ray

    if not resources.gpus_per_trial:
        return lambda running: ""
    total = sum(node["Resources"].get("GPU", 0) for node in ray.nodes() if node["Alive"])
    return lambda running: f"{running * resources.gpus_per_trial:g} of {total:g} GPUs taken"


def check(resources: ResourcesSection) -> None:
    """Check that a trial fits on a node. On a cluster, which may still grow, only print a message.

    Raises
    ------
    ValueError : a trial needs more than this machine has.
    """
    import ray

    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if any(_fits(resources, node) for node in nodes):
        return
    existing = ", ".join(f"{node.get('CPU', 0):g} CPUs and {node.get('GPU', 0):g} GPUs" for node in nodes)
    problem = (
        f"resources: a trial takes cpus_per_trial {resources.cpus_per_trial:g} and gpus_per_trial "
        f"{resources.gpus_per_trial:g}, but no node has as much. Nodes: {existing}"
    )
    if address(resources) is None:
        raise ValueError(problem)
    print(f"{problem}. Waiting for a larger node.", flush=True)


def check_machine(resources: ResourcesSection) -> None:
    """Check that a trial fits on this machine, before Ray starts. A cluster is checked only once it is connected.

    Raises
    ------
    ValueError : a trial needs more than this machine has.
    """
    import torch

    here = {"CPU": cpus(), "GPU": torch.cuda.device_count()}
    if address(resources) is None and not _fits(resources, here):
        raise ValueError(
            f"a trial takes cpus_per_trial {resources.cpus_per_trial:g} and gpus_per_trial "
            f"{resources.gpus_per_trial:g}, but this machine has {here['CPU']} CPUs and {here['GPU']} GPUs. A cluster "
            "may have more: resources.address, or RAY_ADDRESS"
        )


def _fits(resources: ResourcesSection, node: Mapping[str, float]) -> int:
    """How many trials fit on a node."""
    needed = {"CPU": resources.cpus_per_trial, "GPU": resources.gpus_per_trial}
    return min(int(node.get(kind, 0) / amount + 1e-9) for kind, amount in needed.items() if amount)
