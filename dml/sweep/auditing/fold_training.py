"""The training of one fold's network, in any process."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from dml import evaluation, files
from dml.sweep.execution.training import training
from dml.sweep.plan import spec_json
from dml.training.allocator import keep_freed_memory
from dml.training.errors import TrainingError
from dml.training.frozen.opening import open_trial
from dml.training.model_files import TrainedEmbedder
from dml.training.resuming import FOLDER as CHECKPOINTS

EMBEDDINGS, PROGRESS = "embeddings.npy", "progress.json"


@dataclass(frozen=True)
class FoldTraining:
    """A network to train on some labels, and images to embed with it. It pickles as paths and plain values."""

    spec: str  # of the trial, as `dml.sweep.plan.spec_json.dump` writes it
    folder: Path  # of the trial; its data are in `data`, as the data stages write them
    threads: int  # of a trial on the CPU, so that the numbers do not depend on how many processors there are
    path: tuple[str, ...] = ()  # where Python finds a user's own parts

    @property
    def embeddings(self) -> Path:
        """The file with the embeddings of all labelled images, float32 (n, D)."""
        return self.folder / EMBEDDINGS

    @property
    def steps_done(self) -> int:
        """The steps that the network has trained, as far as they are written down."""
        found = files.read_json(self.folder / PROGRESS)
        return int(found["step"]) if isinstance(found, dict) else 0

    def train(self) -> None:
        """Train to the end and embed, from the checkpoint if there is one. Raises as `parts` does."""
        for _ in self.parts():
            pass

    def parts(self) -> Iterator[None]:
        """Train and embed in parts, each of which is saved.

        Raises
        ------
        TrainingError : the loss or an embedding is not finite.
        OSError : the disk is full; the next run resumes.
        """
        sys.path += [path for path in self.path if path not in sys.path]
        keep_freed_memory()
        before = torch.get_num_threads()
        torch.set_num_threads(self.threads)
        try:
            with files.locked(self.folder / "lock"):
                if not self.embeddings.is_file():
                    yield from self._train()
                    self._embed()
        finally:
            torch.set_num_threads(before)

    def _train(self) -> Iterator[None]:
        spec = spec_json.load(self.spec)
        trainer = training(spec, self.folder / "data", self.folder, spec.training.device)
        try:
            while not trainer.finished:
                files.write_json(self.folder / PROGRESS, {"step": trainer.advance().step})
                yield
        finally:
            trainer.close()

    def _embed(self) -> None:
        """Save the embeddings of all labelled images, and delete the network."""
        spec = spec_json.load(self.spec)
        data, embedder = open_trial(spec, self.folder / "data"), TrainedEmbedder(self.folder / "model")
        embedded = evaluation.embed_images(
            embedder.network.to(spec.training.device),
            data.packed.images,
            data.rows,
            augment=embedder.augment,
            device=spec.training.device,
            precision=spec.training.precision,
            views=spec.evaluation.views,
        )
        if not torch.isfinite(embedded).all():
            raise TrainingError("audit: the embeddings of a fold's network are infinite or NaN")
        with files.replacing(self.embeddings) as temporary, open(temporary, "wb") as file:
            np.save(file, embedded.float().cpu().numpy())
        for name in ("model", CHECKPOINTS):
            shutil.rmtree(self.folder / name, ignore_errors=True)
