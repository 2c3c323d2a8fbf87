"""Networks that learn the vectors of an audit: for each fold, by the study's own section on the other folds.

    store/audits/<study>/trained/<digest of all that decides them>/embeddings.npy

Each network is trained and resumes as a trial. It never sees the labels of its fold.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from dml import audit, evaluation, files
from dml.audit.images import Audited
from dml.config import AuditSection, ResourcesSection, Study, audited_cell
from dml.data import batches
from dml.discovery import find
from dml.protocols import Sampler
from dml.sweep import champions as whole
from dml.sweep.execution import cluster
from dml.sweep.execution.cluster import in_workers
from dml.sweep.execution.trial_run import training
from dml.sweep.plan import keys, specs
from dml.training.frozen.opening import open_trial
from dml.training.model_files import TrainedEmbedder
from dml.training.process import TrainingError, keep_freed_memory, on_threads
from dml.training.resuming import FOLDER as CHECKPOINTS
from dml.types import Cell, EvaluationSpec, NoiseSpec, TrialSpec

EMBEDDINGS = "embeddings.npy"


@dataclass(frozen=True)
class FoldTraining:
    """A network to train on some labels, and images to embed with it. It pickles as paths and plain values."""

    spec: TrialSpec
    folder: Path  # of the trial; its data are in `data`, as the data stages write them
    threads: int  # of a trial on the CPU, so that the numbers do not depend on how many processors there are
    path: tuple[str, ...] = ()  # where Python finds a user's own parts

    @property
    def embeddings(self) -> Path:
        """The file with the embeddings of all labelled images, float32 (n, D)."""
        return self.folder / EMBEDDINGS

    def train(self) -> None:
        """Train to the end and embed, from the checkpoint if there is one."""
        sys.path += [path for path in self.path if path not in sys.path]
        keep_freed_memory()
        with on_threads(self.threads), files.locked(self.folder / "lock"):
            if not self.embeddings.is_file():
                trainer = training(self.spec, self.folder / "data", self.folder, self.spec.training.device)
                with closing(trainer):
                    while not trainer.finished:
                        trainer.advance()
                self._embed()

    def _embed(self) -> None:
        """Save the embeddings of all labelled images, and delete the network."""
        spec = self.spec
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


Run = Callable[[Sequence[FoldTraining]], Iterator[None]]
"""Trains networks, here or in other processes; yields after each."""


def in_process(works: Sequence[FoldTraining]) -> Iterator[None]:
    """Train networks one after another in this process."""
    for work in works:
        work.train()
        yield


def on_ray(resources: ResourcesSection, works: Sequence[FoldTraining]) -> Iterator[None]:
    """Train networks on Ray's workers, with a trial's resources each; a single one in this process."""
    sequential = resources.concurrent == 1 or cluster.cpus() < 2 * resources.cpus_per_trial
    if len(works) < 2 or (sequential and cluster.address() is None):
        yield from in_process(works)
        return
    for ended in in_workers(resources, FoldTraining.train, [(work,) for work in works]):
        yield from ended


PARTS = 20  # of a training, after each of which a checkpoint may be due
DIGITS = 16  # of a digest


class TrainedVectors:
    """A `dml.audit.Learner`: embeddings of the audited images, from networks that a study's section `training` trains.

    The settings are those of the first cell that the audit's section admits. What a study searches has its default.

    Parameters
    ----------
    images : with their labels as given.
    data_root : the folder with the data stages' outputs (`data/<study>`).
    folder : of the networks.
    run : trains networks that are missing.

    Raises
    ------
    ValueError : the section admits no cell, or the images cannot be batched as the study says.
    """

    def __init__(
        self,
        study: Study,
        section: AuditSection,
        images: Audited,
        data_root: Path,
        folder: Path,
        run: Run = in_process,
        report: Callable[[str], None] = print,
    ) -> None:
        self._study, self._images, self._run, self._report = study, images, run, report
        self._data_root, self._folder = data_root.resolve(), folder.resolve()
        self.cell = audited_cell(section, study)
        self._spec = _spec(study, self.cell, images)
        self._check_batches()
        self.digest = keys.key(self._spec)
        self.vectors: list[np.ndarray] = []  # of the latest call

    def __call__(self, observed: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The embeddings of all images for each array of labels, float32 (n, D), mapped from files."""
        works = [self._prepared(labels) for labels in observed]
        missing = [work for work in works if not work.embeddings.is_file()]
        if missing:
            self._report(
                f"audit {self._study.name}: training {len(missing)} networks of {len(works)}, one for each fold "
                f"({self.cell.name}), {self._spec.training.steps} steps each"
            )
            for done, _ in enumerate(self._run(missing), 1):
                self._report(f"audit {self._study.name}: {done} of {len(missing)} networks are trained")
        # Mapped copy-on-write: torch takes no arrays that cannot be written.
        self.vectors = [np.load(work.embeddings, mmap_mode="c") for work in works]
        return list(self.vectors)

    def _prepared(self, observed: np.ndarray) -> FoldTraining:
        spec = self._spec
        labelled = (self.digest.encode(), self._images.rows.tobytes(), observed.tobytes())
        folder = self._folder / hashlib.sha256(b"".join(labelled)).hexdigest()[:DIGITS]
        if not (folder / "spec.json").is_file():
            fitted = whole.AllImages(self._images.rows, observed, "as given", None)
            whole.write(fitted, spec.dataset.name, spec.seed, self._data_root, folder / "data")
            files.write_json(folder / "spec.json", keys.record(spec))
        threads = max(1, int(self._study.resources.cpus_per_trial))
        return FoldTraining(spec, folder, threads, tuple(sys.path))

    def _check_batches(self) -> None:
        """Reject, before anything is trained, batches that the labels do not allow."""
        batch, images = self._spec.training.batch, self._images
        sampler: type[Sampler] = find("dml.data.batches", batch.sampler)
        if sampler.needs_coarse and f"given_{images.level}" in images.packed.index:
            raise ValueError(
                f"audit: trained: batches of {batch.sampler!r} need coarse labels, and those of {images.dataset!r} are "
                "verified: choose another sampler"
            )
        codes = audit.check_labels(images.labels).codes
        coarse = images.packed.index["coarse"].to_numpy(np.int64)[images.rows]
        try:
            batches.build(
                batch.sampler, labels=codes, classes=batch.classes, per_class=batch.per_class, coarse=coarse, seed=0
            )
        except ValueError as error:
            raise ValueError(f"audit: trained: training.batch: {error}") from error


def _spec(study: Study, cell: Cell, images: Audited) -> TrialSpec:
    """The trial of a cell on some labels: no noise is added, and nothing is evaluated."""
    digests = {"packed": images.packed.manifest["digest"], "split": "audit", "labels": "audit"}
    spec = specs.build(study, cell, "confirm", study.seeds[0], {}, digests)
    spec = specs.with_rate(spec, lambda _: cell.rate)  # what an audit is to estimate is not known yet
    return replace(
        spec,
        noise=NoiseSpec(*whole.NO_NOISE),
        evaluation=EvaluationSpec(every=max(1, spec.training.steps // PARTS), sets=(), views=spec.evaluation.views),
        protocol=TrialSpec.protocol,
    )
