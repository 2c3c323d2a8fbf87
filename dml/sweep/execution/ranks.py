"""Trials that several workers share: Ray Train starts the workers and ends them together.

The driver is a Ray Tune trial, which takes no processor and reuses its workers. Ray Tune resumes a trial whose workers
died, since Ray Train would also repeat errors of the trial itself.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import threading
import traceback
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import ray
import torch
import torch.distributed as dist
from ray import train
from ray.train.torch import TorchTrainer, get_device
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from dml.sweep.execution.rendezvous import Advanced, Failure, RankError, Rendezvous, TrialConfig, WorkersDied, marked
from dml.sweep.execution.trial_run import TrialRun
from dml.training.process import UnusableCheckpoint, rank_and_size

BEGIN, ADVANCE, CLOSE, END = "begin", "advance", "close", "end"
POLL_SECONDS = 0.5
END_SECONDS = 60.0  # for the workers to end, before they are left to Ray
SETTINGS = {
    "RAY_TRAIN_ENABLE_PREEMPTION_WATCHER": "0",  # Ray Tune resumes trials of a node that is taken away
    "RAY_TRAIN_METRICS_ENABLED": "0",
    "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "1",  # so an error on any rank ends all of them within seconds
    "TORCH_PROCESS_GROUP_SHUTDOWN_TIMEOUT_S": "3",  # of ranks that wait for one that failed
}


class Ranks:
    """The workers of one trial after another."""

    def __init__(self, workers: int, worker: Mapping[str, float]):
        os.environ.update({name: os.environ.get(name, value) for name, value in SETTINGS.items()})
        context = ray.get_runtime_context()
        here = NodeAffinitySchedulingStrategy(context.get_node_id(), soft=False)
        self._rendezvous: Any = ray.remote(Rendezvous).options(num_cpus=0, scheduling_strategy=here).remote()
        self._folder = tempfile.mkdtemp(prefix="dml-ranks-")
        self._error: BaseException | None = None
        resources = marked(worker, context.get_actor_id() or "")
        self._trainer = TorchTrainer(
            serve,
            train_loop_config={"meeting": self._rendezvous},
            scaling_config=train.ScalingConfig(
                num_workers=workers, use_gpu=resources.get("GPU", 0) > 0, resources_per_worker=resources
            ),
            run_config=train.RunConfig(  # type: ignore[call-arg]
                name="ranks",
                storage_path=self._folder,  # only for Ray Train's own notes: checkpoints are in the trial's folder
                failure_config=train.FailureConfig(max_failures=0, max_preemption_failures=0),  # type: ignore[call-arg]
                logging_config=train.LoggingConfig(log_level="ERROR"),
            ),
        )
        self._thread = threading.Thread(target=self._fit, name="ranks", daemon=True)
        self._thread.start()

    def run(self, config: TrialConfig) -> Ranks:
        """A trial on these workers, with the interface of a `TrialRun`."""
        self._config, self._begun = config, False
        return self

    def advance(self) -> Advanced:
        """Have all ranks train to the next evaluation. Returns the first one's answer."""
        command = (ADVANCE, None) if self._begun else (BEGIN, self._config)
        self._begun = True
        number = ray.get(self._rendezvous.post.remote(*command))
        waiting = self._rendezvous.outcome.remote(number)
        answer: Advanced | Failure | None = None
        running = True
        while answer is None and running:
            running = self._thread.is_alive()  # once more after it ended: it may have ended because of a failure
            done, _ = ray.wait([waiting], timeout=POLL_SECONDS)
            answer = ray.get(waiting) if done else None
        if isinstance(answer, tuple):
            return answer
        self._thread.join(END_SECONDS)  # Ray Train ends the other ranks
        failures = getattr(self._error, "worker_failures", {})
        dead = {rank: str(error) for rank, error in failures.items() if hasattr(error, "health_check_failure")}
        if answer is None or dead or answer.resumes:
            problem = dead or (self._error if answer is None else answer.text)
            raise WorkersDied(f"workers of the trial died or lost each other: {problem}")
        raise RankError(f"on rank {answer.rank}:\n{answer.text}", answer.errno)

    def close(self) -> None:
        """Have the ranks close their trial. Does nothing if they ended."""
        if self._begun and self._thread.is_alive():
            self._rendezvous.post.remote(CLOSE, None)
        self._begun = False

    def end(self) -> None:
        """End the workers."""
        if self._thread.is_alive():
            self._rendezvous.post.remote(END, None)
            self._thread.join(END_SECONDS)
        ray.kill(self._rendezvous)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _fit(self) -> None:
        try:
            self._trainer.fit()
        except Exception as error:
            self._error = error


def serve(config: dict[str, Any]) -> None:
    """One rank: obey the driver's commands until it says to end. Runs in a worker of Ray Train."""
    meeting, rank = config["meeting"], rank_and_size()[0]
    device = get_device()
    if device.type == "cuda":
        torch.cuda.set_device(device)
    run: TrialRun | None = None
    try:
        for number in itertools.count():
            command, trial = ray.get(meeting.command.remote(number))
            if command in (BEGIN, CLOSE, END) and run is not None:
                run.close()
                run = None
            if command == END:
                return
            if command == CLOSE:
                continue
            if command == BEGIN:
                run = TrialRun(replace(trial, device=str(device)))
            assert run is not None, "a trial begins before it advances"
            answer = run.advance()
            if rank == 0:
                ray.get(meeting.answer.remote(number, answer))
    except Exception as error:
        failure = Failure(rank, traceback.format_exc(), getattr(error, "errno", None) or 0, _resumes(error))
        ray.get(meeting.fail.remote(failure))
        raise


def _resumes(error: Exception) -> bool:
    """Whether an error is not the trial's own: another rank is gone, or the checkpoint was moved aside."""
    return isinstance(error, dist.DistError | UnusableCheckpoint) or "gloo/transport" in str(error)  # RuntimeErrors
