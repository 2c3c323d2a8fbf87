"""Calls a function in Ray's workers, beside or instead of trials: for features, and for an audit's networks."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from dml.config import ResourcesSection
from dml.sweep.execution import cluster
from dml.sweep.execution.capacity import Room

Result = TypeVar("Result")

POLL_SECONDS = 1.0
DIED = ("WorkerCrashedError", "OutOfMemoryError", "NodeDiedError", "LocalRayletDiedError")  # in `ray.exceptions`


def in_workers(
    resources: ResourcesSection, function: Callable[..., Result], inputs: Sequence[tuple[Any, ...]]
) -> Iterator[list[Result]]:
    """Call a function for each input, in workers that have a trial's resources, and as many at once as trials.

    Connects to the cluster, or starts Ray on this machine.

    Parameters
    ----------
    inputs : the arguments of each call.

    Yields
    ------
    The results that came since the last time, in the order in which calls end; at least every `POLL_SECONDS`, so that
    the caller can report progress. A caller that stops early ends the calls that run.

    Raises
    ------
    Exception : what the function raised.
    RuntimeError : a worker died, for example for want of memory, and Ray's repetitions of its call did too.
    ConnectionError, ValueError : as `cluster.connect` and `Room.check`.
    """
    cluster.connect(resources)
    import ray

    Room(resources).check()
    died = tuple(getattr(ray.exceptions, name) for name in DIED)
    own = resources.worker()
    # By itself Ray ends a worker after one call that has a share of a GPU: the next one would import torch again.
    task = ray.remote(num_cpus=own.get("CPU", 0), num_gpus=own.get("GPU", 0), max_calls=0)(_call)
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
