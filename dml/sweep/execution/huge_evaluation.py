"""Evaluation of vectors in a file over Ray's workers, each with a shard or a block of queries at a time."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from dml.config import ResourcesSection
from dml.evaluation import Scores
from dml.evaluation.compressed import evaluate_compressed
from dml.sweep.execution.tasks import in_workers


def evaluate_in_workers(
    resources: ResourcesSection, path: str | Path, labels: Any, *given: Any, **options: Any
) -> Scores:
    """`dml.evaluation.compressed.evaluate_compressed` over a cluster, or over this machine's cores.

    Scores are the same, whatever the number of workers. All nodes need to reach the file and `folder` by the same path.

    Parameters
    ----------
    resources : as a study's `resources`. `cpus_per_trial` are those of a worker; `memory` bounds each worker.
    given, options : of `evaluate_compressed`.

    Raises
    ------
    What `evaluate_compressed` and `dml.sweep.execution.tasks.in_workers` raise.
    """
    run = partial(in_workers, resources)
    return evaluate_compressed(Path(path).resolve(), labels, *given, run=run, **options)
