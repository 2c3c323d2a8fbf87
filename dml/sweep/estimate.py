"""What a study costs before it runs: cells, trials, hours, disk.

Seconds are those of similar trials in the store (the same images, network and batch). Where there are none, a few
steps on random images are timed. Trials that the store or a snapshot already has cost nothing; they are found only
after the study's data stages ran.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from dml.config import Study
from dml.data import DataError, sources
from dml.data.packing import packed_id
from dml.data.packing.decoding import CorruptImage, header
from dml.data.packing.listing import MALFORMED
from dml.files import read_json
from dml.protocols import Source
from dml.sweep import cluster, keys, specs
from dml.sweep.optuna_storage import copied_storage
from dml.sweep.plan import Plan
from dml.sweep.space import grid, space_of
from dml.sweep.starts import Starts
from dml.sweep.store import FINISHED, Outcome, TrialStore
from dml.sweep.timing import model_bytes, time_steps
from dml.training.data import describe
from dml.types import Cell, StartSpec, TrainingSpec, TrialSpec

LONG = 3600.0  # seconds above which a study is called long
OVERHEAD = 0.3  # seconds of a sweep for a trial (docs/benchmarks/sweep.md)
GUESSED_SIDE = 64  # pixels of images whose size is not known before they are packed
TESTED = 0.5  # share of the images that are evaluated, if no split says it
LOSSES_TIMED = 3  # of the losses and miners that one network is trained with
SIMILAR: tuple[str, ...] = ("backbone", "backbone_settings", "batch", "augment", "augment_settings", "precision")
SIMILAR += ("channels_last", "compile", "devices", "device")


@dataclass(frozen=True)
class Estimate:
    """What a study costs on this machine."""

    study: str
    cells: int
    tuning: int  # trials that tune
    confirming: int  # trials that confirm
    stored: int  # of these, already in the store or published
    seconds: float | None  # until the others are done; None: not known here
    slots: int  # trials at the same time
    trial_seconds: float | None  # of an average trial
    basis: str  # where the seconds are from
    bytes: int  # of packed images and kept models that are yet to be written, as far as known
    models: int  # that are kept

    @property
    def trials(self) -> int:
        """All trials."""
        return self.tuning + self.confirming

    @property
    def long(self) -> bool:
        """Whether it takes more than an hour."""
        return self.seconds is not None and self.seconds > LONG

    def lines(self) -> list[str]:
        """The estimate as text."""
        left = self.trials - self.stored
        stored = f", {self.stored} of them done already" if self.stored else ""
        work = f"{self.cells} cells, {self.trials} trials ({self.tuning} to tune, {self.confirming} to confirm){stored}"
        if not left:
            return [f"{self.study}: {work}; nothing to train"]
        disk = f"{size_text(self.bytes)} on disk ({self.models} models)"
        if self.seconds is None:
            return [f"{self.study}: {work}; time not known: {self.basis}; {disk}"]
        at_once = f", {self.slots} at the same time" if self.slots > 1 else ""
        each = duration_text(self.trial_seconds or 0.0)
        lines = [
            f"{self.study}: {work}",
            f"  time: about {duration_text(self.seconds)} ({left} trials of {each}{at_once}; {self.basis})",
            f"  disk: about {disk}",
        ]
        if self.long:
            lines.append(
                "  This is more than an hour. Fewer seeds, trials per cell or steps shorten it; a cluster too."
            )
        return lines


def duration_text(seconds: float) -> str:
    """Seconds as `2.5 s`, `40 s`, `12 min`, `3.5 h` or `4 days`."""
    if seconds < 90:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.3g} h" if seconds < 172_800 else f"{seconds / 86_400:.0f} days"


def size_text(size: float) -> str:
    """Bytes as `3.1 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def estimate(
    study: Study,
    root: Path,
    store: Path,
    results: Path,
    published: Mapping[str, Outcome] | None = None,
    seconds: float = 3.0,
) -> Estimate:
    """Estimate what a study costs on this machine.

    Parameters
    ----------
    root : of the outputs of its data stages (`data/<study>`); it need not exist yet.
    store, results : of all studies.
    published : outcomes that count as stored, see `TrialStore`.
    seconds : to spend on timing, if the store has no similar trials.
    """
    cells = study.cells()
    tuning, seeds = [_tuning(study, cell) for cell in cells], len(study.seeds)
    trials = sum(tuning) + len(cells) * seeds
    stored = _stored(study, root, store, results, published) if is_prepared(study, root) else 0
    manifests = {dataset.label: _manifest(study, dataset.label, root, store) for dataset in study.datasets}
    found = [_spec(study, cell, manifests[cell.dataset]) for cell in cells]
    costs, basis = _costs(study, found, manifests, store, seconds)
    slots, kept = _slots(study), _models(study, len(cells))
    mean = total = None
    if costs:
        mean = sum(cost * (tune + seeds) for cost, tune in zip(costs, tuning, strict=True)) / trials
        total = mean * (trials - stored) / slots
    size = kept * model_bytes(found[0], manifests[found[0].dataset.name]) + sum(map(_to_pack, manifests.values()))
    return Estimate(
        study.name, len(cells), sum(tuning), len(cells) * seeds, stored, total, slots, mean, basis, size, kept
    )


def is_prepared(study: Study, root: Path) -> bool:
    """Whether the data stages have written all labels that the study's trials train on.

    Parameters
    ----------
    root : of the outputs of the data stages (`data/<study>`).
    """
    asked = [
        (cell.dataset, cell.noise, cell.rate, seed, phase)
        for cell in study.cells()
        for phase, seeds in (("confirm", study.seeds), ("tune", [study.search.seed]))
        for seed in seeds
    ]
    try:
        for one in dict.fromkeys(asked):
            describe(root, *one)
    except (OSError, ValueError, KeyError):
        return False
    return True


def _tuning(study: Study, cell: Cell) -> int:
    """The trials that tune a cell."""
    space = space_of(study, cell)
    if not space:
        return 0
    return len(grid(space, study.search.trials)) if study.search.sampler == "grid" else study.search.trials


def _models(study: Study, cells: int) -> int:
    """The models that stay on disk: those of all confirmed trials."""
    return cells * len(study.seeds)


def _slots(study: Study) -> int:
    """How many trials run at the same time on this machine."""
    resources = study.resources
    fit = int(cluster.cpus() / resources.cpus_per_trial + 1e-9)
    if resources.gpus_per_trial:
        fit = min(fit, int(torch.cuda.device_count() / resources.gpus_per_trial + 1e-9))
    return max(1, min(fit, resources.concurrent or fit))


def _stored(study: Study, root: Path, store: Path, results: Path, published: Mapping[str, Outcome] | None) -> int:
    """The trials that are stored. A search's later rounds count once the earlier ones are done."""
    ended = 0

    def count(*_: Any) -> None:
        nonlocal ended
        ended += 1

    trials = TrialStore(store, study.resources.storage, published)
    with copied_storage(store, study.name) as storage:
        Plan(study, trials, lambda *asked: describe(root, *asked), storage, Starts(results, store)).start(count)
    return ended


def _manifest(study: Study, name: str, root: Path, store: Path) -> dict[str, Any]:
    """What is known of a dataset's images: `height`, `width`, `channels`, often `images`; once packed also `digest`."""
    packed = (read_json(root / "pack.json") or {}).get(name)
    dataset = study.dataset(name)
    source = sources.build(dataset.source, **dataset.options)
    if packed is None:
        own = packed_id(source, resize=dataset.resize, on_corrupt=dataset.on_corrupt, decode=dataset.decode)
        packed = read_json(store / "packed" / own / "manifest.json")
    if packed is not None:
        return packed
    raw = store / "raw" / dataset.raw
    known = {**_first_shape(source, raw), "decode": dataset.decode}
    if dataset.resize is not None:
        known |= {"height": dataset.resize, "width": dataset.resize}
    images = source.counts.get("all", {}).get("images")
    if images is None and source.root is not None and Path(source.root).is_dir():  # a user's own files
        images = sum(1 for _ in source.images(raw))
    return known if images is None else {**known, "images": images}


def _first_shape(source: Source, raw: Path) -> dict[str, Any]:
    """`height`, `width` and `channels` of a source's first image; a guess if its files are not here."""
    try:
        height, width, grey = header(next(iter(source.images(raw)))["image"])
    except (DataError, CorruptImage, StopIteration, *MALFORMED):
        return {"height": GUESSED_SIDE, "width": GUESSED_SIDE, "channels": 3, "guessed": True}
    return {"height": height, "width": width, "channels": 1 if grey else 3}


def _to_pack(manifest: Mapping[str, Any]) -> int:
    """Bytes of a dataset that packing will write, as far as known."""
    if "digest" in manifest or manifest["decode"] == "lazy":
        return 0
    return manifest.get("images", 0) * manifest["height"] * manifest["width"] * manifest["channels"]


def _spec(study: Study, cell: Cell, manifest: Mapping[str, Any]) -> TrialSpec:
    """A cell's first confirmed trial, as far as its cost depends on it."""
    digests = {"packed": str(manifest.get("digest", "")), "split": "", "labels": ""}
    return specs.build(study, cell, "confirm", study.seeds[0], {}, digests, lambda *asked: StartSpec("", ""))


def _costs(
    study: Study, found: Sequence[TrialSpec], manifests: Mapping[str, Mapping[str, Any]], store: Path, seconds: float
) -> tuple[list[float], str]:
    """Seconds of a trial of each cell, and where they are from. Empty: they are not known here."""
    kinds: dict[str, list[TrialSpec]] = defaultdict(list)
    for spec in found:
        kinds[_kind(spec)].append(spec)
    earlier = _earlier(store, kinds)
    missing = [kind for kind in kinds if kind not in earlier]
    if missing and found[0].training.device == "cuda" and not torch.cuda.is_available():
        return [], "it needs a GPU, which this machine lacks"
    timings = {}
    for kind in missing:
        some = kinds[kind][:: -(-len(kinds[kind]) // LOSSES_TIMED)]
        budget, threads = seconds / len(missing) / len(some), int(study.resources.cpus_per_trial)
        timings[kind] = [time_steps(spec, manifests[spec.dataset.name], budget, threads) for spec in some]
    costs = []
    for spec in found:
        kind = _kind(spec)
        if kind in earlier:
            costs.append(fmean(earlier[kind]) * max(1, spec.training.steps) + OVERHEAD)
        else:
            step = fmean(timing.step_seconds for timing in timings[kind])
            image = fmean(timing.image_seconds for timing in timings[kind])
            evaluated = _evaluated(spec, manifests[spec.dataset.name])
            costs.append(step * spec.training.steps + image * evaluated + OVERHEAD)
    measured = sum(map(len, earlier.values()))
    parts = [f"as {measured} similar trials in the store"] if measured else []
    parts += ["by timing a few steps on random images"] if missing else []
    guesses = [name for name, manifest in manifests.items() if "guessed" in manifest]
    if guesses and missing:
        parts.append(f"a guess, as the images of {', '.join(guesses)} are not here yet")
    return costs, ", ".join(parts)


def _evaluated(spec: TrialSpec, manifest: Mapping[str, Any]) -> float:
    """Images that a trial embeds to be evaluated; 0 if their number is not known."""
    times = math.ceil(spec.training.steps / spec.evaluation.every) if spec.evaluation.every else 1
    return manifest.get("images", 0) * TESTED * len(spec.evaluation.sets) * max(1, times)


def _kind(spec: TrialSpec) -> str:
    """Trials of one kind have the same images, network and batch, so their steps take about the same time."""
    return _kind_of(json.loads(keys.canonical(keys.record(spec)))["spec"])


def _kind_of(record: Mapping[str, Any]) -> str:
    training, dataset = record.get("training", {}), record.get("dataset", {})
    return json.dumps([dataset.get("packed"), {name: training.get(name) for name in SIMILAR}], sort_keys=True)


def _earlier(store: Path, kinds: Container[str]) -> dict[str, list[float]]:
    """Seconds per step of the finished trials in the store of some kinds."""
    found: dict[str, list[float]] = defaultdict(list)
    trials = TrialStore(store)
    for key, content, ended in trials.records():
        kind = _kind_of(content["spec"]) if ended else ""
        if kind not in kinds:
            continue
        outcome = trials.read(key)
        if outcome is not None and outcome.status == FINISHED:
            steps = content["spec"].get("training", {}).get("steps", TrainingSpec.steps)
            found[kind].append(outcome.seconds / max(1, steps))
    return found
