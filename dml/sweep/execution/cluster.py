"""Connects to a Ray cluster, or starts Ray on this machine; counts how many trials fit; calls functions in workers."""

from __future__ import annotations

import logging
import os
import pickle
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from dml.config import ResourcesSection
from dml.sweep.execution.ping import problem

QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "RAY_DEDUP_LOGS": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # hide GPUs from trials that request none, without a warning
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_worker_niceness": "0",  # at Ray's 15 a trial waits for all else that the machine does
    "RAY_TRAIN_V2_ENABLED": "1",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",  # no CSV, JSON and TensorBoard files per trial
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # `run` handles Ctrl-C
    "TUNE_GLOBAL_CHECKPOINT_S": str(10**9),  # never: the plan is rebuilt from the store, not from Tune's state
    "TUNE_PRINT_ALL_TRIAL_ERRORS": "0",
    "TUNE_WARN_INSUFFICENT_RESOURCE_THRESHOLD_S": "60",
}
SESSION = 70  # bytes of `/ray/session_2026-11-28_15-43-46_584926_9593/sockets/plasma_store`, and some more
SOCKET = 103  # bytes of a Unix socket's path that every system allows
STARTS = 3  # attempts to start Ray
TOKEN = "it asks for a token: set RAY_AUTH_MODE=token, with the token in RAY_AUTH_TOKEN or ~/.ray/auth_token"


def connect() -> None:
    """Connect to the cluster at `RAY_ADDRESS`, or start Ray on this machine, unless this process is connected."""
    os.environ.update({name: os.environ.get(name, value) for name, value in QUIET.items()})
    import ray  # reads the settings above when imported

    logging.getLogger("ray").setLevel(logging.ERROR)
    if ray.is_initialized():
        return
    cluster = address()
    if cluster is None:
        _start()
        return
    check()
    try:
        ray.init(address=cluster, job_config=_job(), log_to_driver=False, logging_level=logging.ERROR)
    except ConnectionError as error:
        raise ConnectionError(f"no Ray cluster answers at {cluster!r} (RAY_ADDRESS, or {TOKEN})") from error


def check() -> None:
    """Check that the cluster answers, if there is one, without connecting to it."""
    cluster = address()
    if cluster is not None and (why := problem(cluster)):
        raise ConnectionError(f"no Ray cluster answers at {cluster!r} (RAY_ADDRESS): {why}")


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
    folder = os.environ.get("RAY_TMPDIR") or os.environ.get("TMPDIR") or "/tmp"  # as Ray does
    return None if len(os.fsencode(folder)) + SESSION <= SOCKET else "/tmp/ray"


def address() -> str | None:
    """The cluster's address, `RAY_ADDRESS`; None: use this machine."""
    cluster = os.environ.get("RAY_ADDRESS")
    return cluster if cluster and cluster != "local" else None


def cpus() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


QUEUED = 16  # trials of one process that may wait in a cluster for a node
REFRESH_SECONDS = 5.0  # between two counts of the cluster's nodes

Node = Mapping[str, float]
"""What a node has, by Ray's names: CPU, GPU, ..."""


def fits(resources: ResourcesSection, workers: int, nodes: Sequence[Node]) -> int:
    """How many trials of so many workers fit on the nodes at once."""
    return _places(resources.worker(workers), nodes) // workers


def check_machine(resources: ResourcesSection, workers: int) -> None:
    """Check that a trial fits on this machine, before Ray starts. A cluster is checked only once it is connected."""
    import torch

    here = {"CPU": cpus(), "GPU": torch.cuda.device_count()}
    if address() is None and not fits(resources, workers, [here]):
        hint = "A cluster may have more: RAY_ADDRESS"
        if resources.gpus_per_trial and not here["GPU"] and workers == 1:
            hint += "; gpus_per_trial: 0, in a study that extends this one, trains on processors"
        raise ValueError(f"{_missing(resources, workers, [here])} (this machine). {hint}")


def _places(worker: Mapping[str, float], nodes: Sequence[Node]) -> int:
    """How many workers fit on the nodes at once."""
    needed = {name: amount for name, amount in worker.items() if amount}
    return sum(min(int(node.get(name, 0) / each + 1e-9) for name, each in needed.items()) for node in nodes)


def _missing(resources: ResourcesSection, workers: int, nodes: Sequence[Node]) -> str:
    """What a trial takes and what there is, as text."""
    if workers == 1:
        taken = (
            f"a trial takes cpus_per_trial {resources.cpus_per_trial:g} and gpus_per_trial "
            f"{resources.gpus_per_trial:g}, but no node has as much"
        )
    else:
        each = " and ".join(f"{amount:g} {name}" for name, amount in resources.worker(workers).items() if amount)
        room = _places(resources.worker(workers), nodes)
        taken = f"a trial takes {workers} workers (training.workers) of {each} each, but there is room for {room}"
    kinds = Counter(f"{node.get('CPU', 0):g} CPUs and {node.get('GPU', 0):g} GPUs" for node in nodes)
    existing = ", ".join(kind if count == 1 else f"{count} times {kind}" for kind, count in kinds.items())
    return f"{taken}. Nodes: {existing or 'none'}"


class Room:
    """Counts the trials that fit on the nodes, which come and go."""

    def __init__(self, resources: ResourcesSection, workers: int = 1):
        self._resources, self._workers = resources, workers
        self._nodes: list[Node] = []
        self._counted = -REFRESH_SECONDS

    def __call__(self) -> int:
        """How many trials to give to Ray now.

        On this machine as many as fit. On a cluster `QUEUED` more, which make an autoscaler add nodes; but not of
        those that share workers, since a trial that waits would hold processes that others could use again.
        """
        queued = QUEUED if self._workers == 1 and address() else 0
        places = max(1, self.fits() + queued)
        return min(places, self._resources.concurrent or places)

    def check(self) -> None:
        """Check that a trial fits. On a cluster, which may still grow, only print a message."""
        if self.fits():
            return
        text = f"resources: {_missing(self._resources, self._workers, self._nodes)}"
        if address() is None:
            raise ValueError(text)
        print(f"{text}. Waiting for nodes.", flush=True)

    def fits(self) -> int:
        """How many trials fit on the nodes that are there."""
        import ray

        if time.monotonic() - self._counted > REFRESH_SECONDS:
            self._counted = time.monotonic()
            self._nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        return fits(self._resources, self._workers, self._nodes)


Result = TypeVar("Result")

POLL_SECONDS = 1.0
DIED = ("WorkerCrashedError", "OutOfMemoryError", "NodeDiedError", "LocalRayletDiedError")  # in `ray.exceptions`


def in_workers(
    resources: ResourcesSection, function: Callable[..., Result], inputs: Sequence[tuple[Any, ...]]
) -> Iterator[list[Result]]:
    """Call a function for each input, in workers that have a trial's resources, and as many at once as trials.

    Connects to the cluster, or starts Ray on this machine.
    """
    connect()
    import ray

    Room(resources).check()
    died = tuple(getattr(ray.exceptions, name) for name in DIED)
    worker = resources.worker()
    # By itself Ray ends a worker after one call that has a share of a GPU: the next one would import torch again.
    task = ray.remote(num_cpus=worker.get("CPU", 0), num_gpus=worker.get("GPU", 0), max_calls=0)(_call)
    path, waiting = tuple(sys.path), list(reversed(inputs))
    running: list[ray.ObjectRef[Result]] = []
    try:
        while waiting or running:
            while waiting and len(running) < (resources.concurrent or len(inputs)):
                running.append(task.remote(path, ray.cloudpickle.dumps((function, waiting.pop()))))
            done, running = ray.wait(running, timeout=POLL_SECONDS)
            yield ray.get(done)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None  # without the traceback of another process
    except died as error:
        raise RuntimeError(
            f"a worker died: {str(error).partition(chr(10))[0]} What ended is saved: repeat the command. "
            "If memory was short, set resources.concurrent to fewer at once"
        ) from error
    finally:
        for left in running:
            ray.cancel(left, force=True)


def _call(path: tuple[str, ...], pickled: bytes) -> Any:
    """Call a pickled function in a worker. It and its arguments may be of the project's own modules."""
    sys.path += [place for place in path if place not in sys.path]
    function, arguments = pickle.loads(pickled)
    return function(*arguments)
