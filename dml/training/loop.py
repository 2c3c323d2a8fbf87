"""One trial: a network trained with one loss on one way of choosing tuples, evaluated on clean labels.

`Training` is built from a `TrialSpec`, or goes on from the checkpoint in its folder; `advance()` trains to the next
evaluation. On a CPU an interrupted and resumed trial gives the uninterrupted one's numbers bit for bit.
"""

from __future__ import annotations

import math
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dml import evaluation, miners
from dml.data import batches
from dml.seeding import derive, generator
from dml.training import checkpoint
from dml.training.build import build_augment, build_loss, build_miner, build_model, build_optimizer, describe_model
from dml.training.data import open_data
from dml.training.distributed import average_gradients, gather, parallel, rank_and_size
from dml.training.feeder import Feeder
from dml.types import Progress, TrialResult, TrialSpec

SKEW_EVERY = 5  # steps between two looks at which negatives are drawn
CLUSTERING = ("over_clustering", "nmi_average")  # settings of `evaluation.evaluate` that a study may give
EMBEDDING_BATCH = 512  # images embedded at once in evaluation


class TrainingError(RuntimeError):
    """A trial that cannot go on, such as one whose loss is not finite."""


class Training:
    """A trial under way.

    Parameters
    ----------
    spec : all that decides the result.
    data_root : the folder with the data stages' outputs (`data/<study>`).
    folder : the trial's own folder, for its checkpoint and what it leaves.
    device : where the network lives.
    checkpoint_seconds : the longest time between two checkpoints.
    """

    def __init__(
        self,
        spec: TrialSpec,
        data_root: Path,
        folder: Path,
        device: torch.device | str = "cpu",
        checkpoint_seconds: float = 30.0,
    ):
        self.spec, self.folder, self.device = spec, Path(folder), torch.device(device)
        self._checkpoint_seconds = checkpoint_seconds
        self.data = open_data(spec, Path(data_root))
        training = spec.training
        self._augment = build_augment(spec, self.data)
        with self._own_random_state(None):
            self.model = build_model(spec, self.data).to(self.device)
            if training["channels_last"]:
                self.model = self.model.to(memory_format=torch.channels_last)
            self.loss = build_loss(spec, self.data.classes).to(self.device)
            self._random_state = self._get_random_state()
        self._mine = build_miner(spec, self.loss)
        mined = self._mine is not None and training["normalize"]
        self._skew = miners.NegativeDistances() if mined else None  # its bins are those of unit vectors
        self._rank, size = rank_and_size()
        images = training["batch"]["classes"] * training["batch"]["per_class"]
        if images % size:
            raise ValueError(f"training.devices: a batch of {images} images cannot be shared equally by {size} devices")
        network = parallel(self.model, self.device)
        self._forward = torch.compile(network) if training["compile"] else network
        self._optimizer, self._schedule = build_optimizer(training, self.model, self.loss)
        self._generators = {
            "miner": generator(spec.seed, "miner", self.device),
            "augment": generator(spec.seed, f"augment/{self._rank}", self.device),
        }
        self._feeder = Feeder(
            self.data.packed.images,
            self.data.rows,
            self.data.observed,
            batches.build(
                training["batch"]["sampler"],
                labels=self.data.observed,
                classes=training["batch"]["classes"],
                per_class=training["batch"]["per_class"],
                coarse=self.data.coarse,
                seed=derive(spec.seed, "batches"),
            ),
            self.device,
            share=(self._rank, size),
        )
        self.step = 0
        self.total_steps: int = training["steps"]
        self._curve: list[Progress] = []
        self._sums: dict[str, Tensor] = {}
        self._seconds = 0.0
        self._resume()

    @property
    def finished(self) -> bool:
        """Whether all steps are done and evaluated."""
        return self.step >= self.total_steps and bool(self._curve) and self._curve[-1].step == self.step

    def advance(self) -> Progress:
        """Train to the next evaluation (or the end), evaluate, and save a checkpoint.

        Raises
        ------
        TrainingError : the loss is not finite.
        """
        assert not self.finished, "a finished trial cannot advance"
        started = saved = time.perf_counter()
        every = self.spec.evaluation["every"] or self.total_steps
        target = min(self.total_steps, (self.step // every + 1) * every)
        with self._own_random_state(self._random_state):
            bad = torch.full((), -1, dtype=torch.int64, device=self.device)
            while self.step < target:
                bad = self._train_step(bad)
                if time.perf_counter() - saved > self._checkpoint_seconds:
                    self._raise_if(bad)
                    self._seconds += time.perf_counter() - started
                    self._random_state = self._get_random_state()
                    if self._rank == 0:
                        self._save()
                    started = saved = time.perf_counter()
            self._raise_if(bad)
            self._random_state = self._get_random_state()
        scores = self.evaluate() if self._rank == 0 else {}
        self._curve.append(Progress(self.step, scores))
        self._seconds += time.perf_counter() - started
        if self._rank == 0:
            if "best" in self.spec.training["keep_checkpoints"] and self._is_best():
                self._save("best")
            self._save()
            if self.finished:
                self._leave()
        return self._curve[-1]

    def evaluate(self) -> dict[str, float]:
        """Scores on clean labels, keyed `<set>/<level>/<metric>`: validation classes to tune, the test split after."""
        scores: dict[str, float] = {}
        for name in self._evaluation_sets():
            rows = self.data.evaluation_rows(name)
            levels = {level: self.data.labels(level, rows) for level in self.spec.dataset["evaluate_on"]}
            embeddings = self.embed(rows)
            if not torch.isfinite(embeddings).all():
                raise TrainingError(f"the embeddings became infinite or NaN by step {self.step}{self._where()}")
            found = evaluation.evaluate(
                embeddings,
                levels,
                metrics=list(self.spec.evaluation["metrics"]),
                normalize=self.spec.training["normalize"],
                **{key: self.spec.evaluation[key] for key in CLUSTERING if key in self.spec.evaluation},
                **self._protocol(rows),
            )
            scores |= {f"{name}/{key}": float(value) for key, value in found.items()}
        return scores

    def embed(self, rows: np.ndarray) -> Tensor:
        """Embeddings (m, D) float32 of images, in evaluation mode, in the order of `rows` (m,)."""
        images = self.data.packed.images
        parts = (rows[start : start + EMBEDDING_BATCH] for start in range(0, len(rows), EMBEDDING_BATCH))
        batches_of = (torch.from_numpy(np.ascontiguousarray(images[part])).permute(0, 3, 1, 2) for part in parts)
        self.model.eval()
        with torch.inference_mode():
            precision = self.spec.training["precision"]
            out = evaluation.embed(self._embed_batch, batches_of, len(rows), self.device, precision)
        self.model.train()
        return out

    def _embed_batch(self, images: Tensor) -> Tensor:
        return self.model(self._augment(images, training=False, generator=None))

    def result(self) -> TrialResult:
        """What a finished trial leaves."""
        assert self.finished, "an unfinished trial has no result"
        images = self.step * self.spec.training["batch"]["classes"] * self.spec.training["batch"]["per_class"]
        diagnostics = {name: float(total) / self.step for name, total in self._sums.items()}
        diagnostics["images_per_second"] = images / self._seconds
        if self._skew is not None and float(eta := self._skew.eta(minimum=50)) > 0:
            diagnostics["eta"] = float(eta)
        return TrialResult(self._curve[-1].scores, tuple(self._curve), diagnostics, self._seconds)

    def discard_checkpoint(self) -> None:
        """Remove the checkpoints that the study does not keep, once the result is recorded."""
        for name in {"last", "best"} - set(self.spec.training["keep_checkpoints"]):
            self._checkpoint(name).unlink(missing_ok=True)
        with suppress(OSError):  # some are kept, or there was none
            self._checkpoint("last").parent.rmdir()

    def close(self) -> None:
        """End what runs in the background."""
        self._feeder.close()

    def _train_step(self, bad: Tensor) -> Tensor:
        """One step. Returns the first step whose loss was not finite, -1 for none, without waiting for the device."""
        batch = self._feeder.next()
        images = self._augment(batch.images, training=True, generator=self._generators["augment"])
        if self.spec.training["channels_last"]:
            images = images.contiguous(memory_format=torch.channels_last)
        with self._autocast():
            embeddings = self._forward(images)
        embeddings = gather(embeddings.float())
        tuples = None
        if self._mine is not None:
            tuples = self._mine(embeddings.detach(), batch.labels, generator=self._generators["miner"])
            if self._skew is not None and self.step % SKEW_EVERY == 0:
                self._skew.update(embeddings.detach(), batch.labels, tuples)
        value = self.loss(embeddings, batch.labels, tuples)
        self._optimizer.zero_grad(set_to_none=True)
        value.backward()
        average_gradients(self.loss)
        self._optimizer.step()
        self._schedule.step()
        self.step += 1
        self._note("loss", value.detach())
        for part in (self.loss, self._mine):
            for name, number in getattr(part, "last", {}).items():
                self._note(name, number)
        return torch.where((bad < 0) & ~torch.isfinite(value.detach()), self.step, bad)

    def _note(self, name: str, value: Tensor) -> None:
        value = value.detach().double()
        self._sums[name] = self._sums[name] + value if name in self._sums else value

    def _raise_if(self, bad: Tensor) -> None:
        first = int(bad)
        if first >= 0:
            raise TrainingError(f"the loss became infinite or NaN at step {first}{self._where()}")

    def _where(self) -> str:
        rate = self.spec.training["learning_rate"]
        return f" of {self.total_steps} (loss {self.spec.loss['name']!r}, learning rate {rate:g})"

    def _autocast(self) -> torch.autocast:
        half = self.spec.training["precision"] == "bfloat16"
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=half)

    @contextmanager
    def _own_random_state(self, state: list[Tensor] | None):
        """Run with this trial's global random state (dropout, initial weights), then put the caller's back."""
        with torch.random.fork_rng(devices=[self.device] if self.device.type == "cuda" else []):
            if state is None:
                torch.manual_seed(derive(self.spec.seed, "init"))
            else:
                torch.set_rng_state(state[0])
                if self.device.type == "cuda":
                    torch.cuda.set_rng_state(state[1], self.device)
            yield

    def _get_random_state(self) -> list[Tensor]:
        """The global random states that a trial draws from: the CPU's, and its GPU's where it has one."""
        cuda = [torch.cuda.get_rng_state(self.device)] if self.device.type == "cuda" else []
        return [torch.get_rng_state(), *cuda]

    def _evaluation_sets(self) -> list[str]:
        return ["validation"] if self.spec.phase == "tune" else list(self.spec.evaluation["sets"])

    def _protocol(self, rows: np.ndarray) -> dict[str, Any]:
        """Query and gallery masks (m,) and cameras (m,), where the split is one of queries and a gallery.

        Its validation classes, which are not divided so, ask among themselves, by the same rule of cameras.
        """
        if not (self.data.split["final"] == "query").any():
            return {}
        cameras = {"cameras": self.data.packed.index["camera"].to_numpy()[rows]}
        roles = self.data.split.set_index("index").loc[rows, "final"].to_numpy()
        if not (roles == "query").any():
            return cameras
        return {"queries": roles == "query", "gallery": roles == "gallery", **cameras}

    def _leave(self) -> None:
        """What a finished trial leaves beside its result: weights that can be applied, and embeddings if asked for."""
        if self.spec.phase == "confirm":
            checkpoint.save_model(self.folder / "model", self.model, describe_model(self.spec, self.data))
        if self.spec.evaluation["keep_embeddings"] and self.spec.phase == "confirm":
            rows = {name: self.data.evaluation_rows(name) for name in self._evaluation_sets()}
            together = np.concatenate(list(rows.values()))
            with checkpoint.replacing(self.folder / "embeddings.npz") as temporary, open(temporary, "wb") as file:
                np.savez_compressed(
                    file,
                    embeddings=self.embed(together).cpu().numpy(),
                    labels_fine=self.data.labels("fine", together),
                    labels_coarse=self.data.labels("coarse", together),
                    set=np.concatenate([np.full(len(r), name) for name, r in rows.items()]),
                )

    def _checkpoint(self, name: str) -> Path:
        return self.folder / "checkpoint" / f"{name}.pt"

    def _is_best(self) -> bool:
        """Whether the last evaluation is the best yet, by the first metric and level, on validation classes."""
        score = f"validation/{self.spec.dataset['evaluate_on'][0]}/{self.spec.evaluation['metrics'][0]}"
        values = [point.scores.get(score, -math.inf) for point in self._curve]
        return values[-1] > max(values[:-1], default=-math.inf)

    def _save(self, name: str = "last") -> None:
        checkpoint.save(
            self._checkpoint(name),
            {
                "step": self.step,
                "model": self.model.state_dict(),
                "loss": self.loss.state_dict(),
                "optimizer": self._optimizer.state_dict(),
                "schedule": self._schedule.state_dict(),
                "sampler": self._feeder.state_dict(),
                "generators": {name: g.get_state() for name, g in self._generators.items()},
                "random_state": self._random_state,
                "curve": [[p.step, dict(p.scores)] for p in self._curve],
                "sums": self._sums,
                "skew": [] if self._skew is None else [self._skew.drawn, self._skew.uniform],
                "seconds": self._seconds,
            },
        )

    def _resume(self) -> None:
        path = self._checkpoint("last")
        if not path.is_file():
            return
        state = checkpoint.load(path)  # on the CPU: Adam's step counts belong there, or each step would wait for them
        self.step = state["step"]
        self.model.load_state_dict(state["model"])
        self.loss.load_state_dict(state["loss"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._schedule.load_state_dict(state["schedule"])
        self._feeder.load_state_dict(state["sampler"])
        for name, saved in state["generators"].items():
            self._generators[name].set_state(saved.cpu())
        if self._rank:  # the checkpoint is the first process's: the others' augmentations start anew
            self._generators["augment"] = generator(self.spec.seed, f"augment/{self._rank}/{self.step}", self.device)
        self._random_state = state["random_state"]
        self._curve = [Progress(step, scores) for step, scores in state["curve"]]
        self._sums = {name: total.to(self.device) for name, total in state["sums"].items()}
        self._seconds = state["seconds"]
        if self._skew is not None:
            self._skew.drawn, self._skew.uniform = (counts.to(self.device) for counts in state["skew"])
