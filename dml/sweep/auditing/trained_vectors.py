"""A representation of images that is trained: for each fold, by the study's own section on the other folds.

    store/audits/<study>/trained/<digest>/embeddings.npy

and `trained/used.json` names those of the last finished audit: `dml gc` offers to remove the others.

Each network is trained as a trial is, and resumes from its checkpoint. Among the labels that it trains on, those of the
held-out fold are missing. All other labelled images train, whatever their role in the split. The digest is that of
these labels, the images, the settings, and the versions of all parts.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dml import audit, files
from dml.config import AuditSection, Study, audited_cell
from dml.data import batches
from dml.data.packing import ProgressLine
from dml.discovery import find
from dml.protocols import Sampler
from dml.sweep.auditing.fold_training import FoldTraining
from dml.sweep.auditing.inputs import Audited
from dml.sweep.auditing.workers import Run, in_process
from dml.sweep.champions import data as whole
from dml.sweep.plan import keys, spec_json, specs
from dml.types import Cell, EvaluationSpec, NoiseSpec, TrialSpec

PARTS = 20  # of a training, after each of which its progress is known; beside checkpoints that are due after some time
DIGITS = 16  # of a digest
USED = "used.json"


class TrainedVectors:
    """A `dml.audit.Learner`: embeddings of the audited images, from networks that a study's section `training` trains.

    The settings are those of one cell of the study, the first that the audit's section admits. What a study searches
    has the part's default. No noise is added, and nothing is evaluated.

    Parameters
    ----------
    found : the images and their labels as given.
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
        found: Audited,
        data_root: Path,
        folder: Path,
        run: Run = in_process,
        report: Callable[[str], None] = print,
    ) -> None:
        self._study, self._found, self._run, self._report = study, found, run, report
        self._data_root, self._folder = data_root.resolve(), folder.resolve()
        self.cell = audited_cell(section, study)
        self._spec = _spec(study, self.cell, found)
        self._check_batches()
        self.digest = keys.key(self._spec)
        self.vectors: list[np.ndarray] = []  # of the latest call
        self._used: set[str] = set()

    def __call__(self, observed: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The embeddings of all images for each array of labels, float32 (n, D), mapped from files.

        Raises
        ------
        TrainingError : a loss or an embedding is not finite.
        ConnectionError : the cluster does not answer.
        """
        works = [self._prepared(labels) for labels in observed]
        self._used |= {work.folder.name for work in works}
        missing = [work for work in works if not work.embeddings.is_file()]
        if missing:
            every, total = self._spec.training.steps, len(missing) * self._spec.training.steps
            self._report(
                f"audit {self._study.name}: training {len(missing)} networks of {len(works)}, one for each fold "
                f"({self.cell.name}), {every} steps each"
            )
            progress = ProgressLine(f"audit {self._study.name}: training steps", total, self._report)
            for _ in self._run(missing):
                done = sum(work.steps_done for work in missing)
                if done:  # workers take a while to start
                    progress(done)
        # Mapped copy-on-write: torch takes no arrays that cannot be written.
        self.vectors = [np.load(work.embeddings, mmap_mode="c") for work in works]
        return list(self.vectors)

    def finish(self) -> None:
        """Record which networks this audit used, when it is done."""
        files.write_json(self._folder / USED, sorted(self._used))

    def _prepared(self, observed: np.ndarray) -> FoldTraining:
        """A training on these labels, with its data written."""
        spec = self._spec
        labelled = (self.digest.encode(), self._found.rows.tobytes(), observed.tobytes())
        folder = self._folder / hashlib.sha256(b"".join(labelled)).hexdigest()[:DIGITS]
        if not (folder / "spec.json").is_file():
            images = whole.AllImages(self._found.rows, observed, "as given", None)
            whole.write(images, spec.dataset.name, spec.seed, self._data_root, folder / "data")
            files.write_json(folder / "spec.json", keys.record(spec))
        threads = max(1, int(self._study.resources.cpus_per_trial))
        return FoldTraining(spec_json.dump(spec), folder, threads, tuple(sys.path))

    def _check_batches(self) -> None:
        """Reject, before anything is trained, batches that the labels do not allow."""
        batch, found = self._spec.training.batch, self._found
        sampler: type[Sampler] = find("dml.data.batches", batch.sampler)
        if sampler.needs_coarse and f"given_{found.level}" in found.packed.index:
            raise ValueError(
                f"audit: trained: batches of {batch.sampler!r} need coarse labels, and those of {found.dataset!r} are "
                "verified: choose another sampler"
            )
        codes = audit.check_labels(found.labels).codes
        coarse = found.packed.index["coarse"].to_numpy(np.int64)[found.rows]
        try:
            batches.build(
                batch.sampler, labels=codes, classes=batch.classes, per_class=batch.per_class, coarse=coarse, seed=0
            )
        except ValueError as error:
            raise ValueError(f"audit: trained: training.batch: {error}") from error


def _spec(study: Study, cell: Cell, found: Audited) -> TrialSpec:
    """The trial of a cell on some labels: no noise is added, and nothing is evaluated.

    The digest of the images is also of the labels that come with them, verified ones too, but they decide no number.
    """
    digests = {"packed": found.packed.manifest["digest"], "split": "audit", "labels": "audit"}
    spec = specs.build(study, cell, "confirm", study.seeds[0], {}, digests)
    spec = specs.with_rate(spec, lambda _: cell.rate)  # what an audit is to estimate is not known yet
    return replace(
        spec,
        noise=NoiseSpec(*whole.NO_NOISE),
        evaluation=EvaluationSpec(every=max(1, spec.training.steps // PARTS), sets=(), views=spec.evaluation.views),
        protocol=TrialSpec.protocol,
    )
