"""What a checkpoint contains, and how a trial resumes from it. Loading one cannot run code that it contains."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dml.files import replacing
from dml.miners import PairDistances
from dml.protocols import Filter, Loss
from dml.seeding import derive, generator
from dml.training.batch_loader import BatchLoader
from dml.training.collectives import agreed
from dml.training.process import UnusableCheckpoint
from dml.types import EvaluationPoint


class RandomStreams:
    """One generator for each purpose, and the trial's own global random state (initial weights, dropout)."""

    def __init__(self, seed: int, rank: int, workers: int, device: torch.device):
        self.miner = generator(seed, "miner", device)
        self.augment = generator(seed, f"augment/{rank}", device)
        self._seed, self._rank, self._workers, self._device = seed, rank, workers, device
        self._global: list[Tensor] = []  # states of torch's global generators: the CPU's, and the trial's GPU's

    @contextmanager
    def as_global(self) -> Iterator[None]:
        """Run a block with the trial's global random state, then restore the caller's."""
        cuda = self._device.type == "cuda"
        with torch.random.fork_rng(devices=[self._device] if cuda else []):
            if not self._global:
                torch.manual_seed(derive(self._seed, "init"))
            else:
                torch.set_rng_state(self._global[0])
                if cuda:
                    torch.cuda.set_rng_state(self._global[1], self._device)
            yield
            self._global = [torch.get_rng_state(), *([torch.cuda.get_rng_state(self._device)] if cuda else [])]

    def begin_step(self, step: int) -> None:
        """Begin the augmentation stream of this step, in every process but the first."""
        if self._rank:
            self.augment = generator(self._seed, f"augment/{self._rank}/{step}", self._device)

    @contextmanager
    def of_process(self, step: int) -> Iterator[None]:
        """Run the network with dropout of this process's own, where several share the trial."""
        shared, gpus = self._workers > 1, [self._device] if self._device.type == "cuda" else []
        with torch.random.fork_rng(gpus, enabled=shared):
            if shared:
                torch.manual_seed(derive(self._seed, f"network/{self._rank}/{step}"))
            yield

    def state_dict(self) -> dict[str, Any]:
        return {"miner": self.miner.get_state(), "augment": self.augment.get_state(), "global": self._global}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.miner.set_state(state["miner"].cpu())
        self.augment.set_state(state["augment"].cpu())
        self._global = state["global"]


class Filtering:
    """Applies a filter to each batch, and counts."""

    def __init__(self, part: Filter, samples: int, device: torch.device):
        self._part, self._device = part.to(device), device
        self._drawn = torch.zeros(samples, dtype=torch.int64, device=device)
        self._left_out = torch.zeros_like(self._drawn)

    @property
    def stats(self) -> Mapping[str, Tensor]:
        return self._part.stats

    def __call__(self, embeddings: Tensor, labels: Tensor, positions: Tensor) -> Tensor:
        """Embeddings (B, D), observed labels (B,) and positions (B,) in the training images -> bool (B,): kept."""
        kept = agreed(self._part(embeddings.detach(), labels))
        self._drawn.index_add_(0, positions, torch.ones_like(positions))
        self._left_out.index_add_(0, positions, (~kept).to(positions.dtype))
        return kept

    def agreement(self, flipped: np.ndarray | None) -> dict[str, float]:
        """`left_out_precision` and `left_out_recall` by the labels that are wrong, bool (n,), over all batches."""
        if flipped is None:
            return {}
        drawn, left_out = (counts.cpu().numpy() for counts in (self._drawn, self._left_out))
        hits = float(left_out[flipped].sum())
        totals = {"left_out_precision": float(left_out.sum()), "left_out_recall": float(drawn[flipped].sum())}
        return {name: hits / total for name, total in totals.items() if total}

    def state_dict(self) -> dict[str, Any]:
        return {"part": dict(self._part.state_dict()), "drawn": self._drawn, "left_out": self._left_out}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._part.load_state_dict(state["part"])
        self._drawn, self._left_out = (state[name].to(self._device) for name in ("drawn", "left_out"))


DISTANCES_EVERY = 5  # steps between two batches whose distances are counted


class Diagnostics:
    """Means over the steps, and counts of the distances of pairs. Updates do not synchronise with the device."""

    def __init__(self, device: torch.device, count_distances: bool):
        self._device = device
        self.sums: dict[str, Tensor] = {}
        self._distances = PairDistances() if count_distances else None
        self._not_finite = torch.full((), -1, dtype=torch.int64, device=device)  # the first such step; -1: none

    def add_tuples(self, step: int, *batch: Any) -> None:
        """Count the pairs of one batch, given as `PairDistances.update` takes it. Skips most steps."""
        if self._distances is not None and step % DISTANCES_EVERY == 0:
            self._distances.update(*batch)

    def add_step(self, step: int, loss: Tensor, *stats: Mapping[str, Tensor]) -> None:
        """Add the loss after `step` steps, and the statistics of the parts; all 0-d."""
        for name, value in (pair for part in ({"loss": loss}, *stats) for pair in part.items()):
            self.sums[name] = self.sums.get(name, 0) + value.detach().double()
        first = (self._not_finite < 0) & ~torch.isfinite(loss)
        self._not_finite = torch.where(first, step, self._not_finite)

    def first_not_finite(self) -> int | None:
        """The first step whose loss was infinite or NaN. Synchronises with the device."""
        step = int(self._not_finite)
        return step if step >= 0 else None

    def means(self, steps: int) -> dict[str, float]:
        """Each number's mean over the steps."""
        return {name: float(total) / steps for name, total in self.sums.items()}

    def counts(self) -> dict[str, list[float]]:
        """Negatives per bin of distance: `eta_drawn` as drawn, `eta_uniform` under uniform drawing. Or none."""
        counted = {} if self._distances is None else self._distances.counts()
        return {f"eta_{name}": values for name, values in counted.items()}

    def state_dict(self) -> dict[str, Any]:
        return {"sums": self.sums, "distances": {} if self._distances is None else self._distances.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.sums = {name: total.to(self._device) for name, total in state["sums"].items()}
        if self._distances is not None:
            self._distances.load_state_dict(state["distances"])


def save(path: Path, state: Mapping[str, Any]) -> None:
    """Save a nested state of tensors and plain values atomically."""
    with replacing(path) as temporary, open(temporary, "wb") as file:  # torch's own writer hides that a disk is full
        torch.save(dict(state), file)


def load(path: Path) -> dict[str, Any]:
    """Load the state that `save` wrote, on the CPU. Raises ValueError."""
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise ValueError(f"{path}: not a checkpoint that can be loaded safely: {error}") from error


FOLDER, LAST = "checkpoint", "last.pt"


@dataclass
class History:
    """How far a trial has come."""

    step: int = 0
    curve: list[EvaluationPoint] = field(default_factory=list)
    seconds: float = 0.0  # of training and evaluation, without saving
    chosen: str = ""  # by the method `free`, for the head that it started from

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Add the seconds that a block takes."""
        started = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - started

    def state_dict(self) -> dict[str, Any]:
        curve = [[point.step, dict(point.scores)] for point in self.curve]
        return {"step": self.step, "curve": curve, "seconds": self.seconds, "chosen": self.chosen}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.step, self.seconds, self.chosen = state["step"], state["seconds"], state.get("chosen", "")
        self.curve = [EvaluationPoint(step, scores) for step, scores in state["curve"]]


@dataclass(frozen=True)
class TrialState:
    """Everything that decides a trial's next steps. A checkpoint contains the `state_dict()` of each field."""

    model: nn.Module
    loss: Loss
    optimizer: torch.optim.Optimizer
    schedule: torch.optim.lr_scheduler.LRScheduler
    batches: BatchLoader
    streams: RandomStreams
    diagnostics: Diagnostics
    history: History
    filtering: Filtering | None = None

    def save(self, folder: Path) -> None:
        """Save a checkpoint in the trial's folder."""
        save(folder / FOLDER / LAST, {name: part.state_dict() for name, part in self._parts().items()})

    def resume(self, folder: Path) -> None:
        """Restore the checkpoint in the trial's folder, if there is one. Raises UnusableCheckpoint.

        On a CPU the next steps are then those of the uninterrupted trial, bit for bit.
        """
        if not resumes(folder):
            return
        path = folder / FOLDER / LAST
        try:
            saved = load(path)
            for name, part in self._parts().items():
                part.load_state_dict(saved[name])
        except (ValueError, LookupError, TypeError, AttributeError, RuntimeError) as error:
            raise UnusableCheckpoint(path, error) from error

    def _parts(self) -> dict[str, Any]:
        return {name: part for name, part in vars(self).items() if part is not None}


def discard(folder: Path) -> None:
    """Delete the checkpoint in a trial's folder."""
    (folder / FOLDER / LAST).unlink(missing_ok=True)
    with suppress(OSError):  # the folder contains others, or does not exist
        (folder / FOLDER).rmdir()


def resumes(folder: Path) -> bool:
    """Whether a trial's folder contains a checkpoint from which it resumes."""
    return (folder / FOLDER / LAST).is_file()
