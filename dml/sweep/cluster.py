"""Ray, quietly: a cluster by its address, or this machine; and how many trials fit it."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable

from dml.config import ResourcesSpec

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


def connect(resources: ResourcesSpec) -> None:
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
    address = resources.address or os.environ.get("RAY_ADDRESS")
    if not address:
        ray.init(
            num_cpus=cpus(),
            object_store_memory=10**8,  # results only: images are mapped from the packed files
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
        return
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except ConnectionError as error:
        raise ConnectionError(f"no Ray cluster answers at {address!r} (resources.address or RAY_ADDRESS)") from error


def cpus() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def slots(resources: ResourcesSpec, refresh: float = 5.0) -> Callable[[], int]:
    """How many trials fit now, asked again every `refresh` seconds: nodes come and go."""
    import ray

    needed = {"CPU": resources.cpus_per_trial, "GPU": resources.gpus_per_trial}
    known, asked = 0, -refresh

    def count() -> int:
        nonlocal known, asked
        if time.monotonic() - asked > refresh:
            asked = time.monotonic()
            nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
            fits = [min(int(node.get(k, 0) / n + 1e-9) for k, n in needed.items() if n) for node in nodes]
            known = max(1, sum(fits))
        return min(known, resources.concurrent or known)

    return count


def check(resources: ResourcesSpec) -> None:
    """Raise a ValueError where no node can hold a single trial, and an autoscaler is not there to add one."""
    import ray

    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    for kind, needed in (("CPU", resources.cpus_per_trial), ("GPU", resources.gpus_per_trial)):
        largest = max((node.get(kind, 0) for node in nodes), default=0)
        if needed > largest:
            raise ValueError(
                f"resources.{kind.lower()}s_per_trial is {needed:g}, but the largest node of this cluster has "
                f"{largest:g} {kind}s"
            )
