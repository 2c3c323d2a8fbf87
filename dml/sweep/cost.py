"""What a study costs before it runs: cells, trials, hours.

Seconds are those of similar trials in the store (the same images, network and batch); else a few steps are timed.
"""

from __future__ import annotations

import math
import os
import platform
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean, median
from types import SimpleNamespace
from typing import Any, cast

import torch
from torch import Tensor

from dml import files, models
from dml.config import Study
from dml.counting import counted
from dml.data import sources, splits
from dml.data.packing import packed_id
from dml.data.packing.opening import VECTORS
from dml.files import read_json
from dml.sweep.execution import cluster
from dml.sweep.inputs.rates import Rates
from dml.sweep.inputs.vectors import stored_trainings
from dml.sweep.plan import keys, specs
from dml.sweep.plan.plan import Plan
from dml.sweep.plan.space import tuning_trials
from dml.sweep.store.init_from import InitFromFinder
from dml.sweep.store.trials import FINISHED, Outcome, TrialStore
from dml.training.build import build_augment, build_loss, build_miner, describe_model
from dml.training.data import TrialData, describe
from dml.training.frozen.opening import find_features
from dml.training.frozen.recipe import describe_head, image_shape, stored_shape
from dml.training.optimizers import build_optimizer
from dml.training.process import on_threads
from dml.types import TUNING_SEED, Cell, InitFromSpec, TrainingSpec, TrialSpec

LONG = 3600.0  # seconds above which a study is called long
AROUND = 60.0  # seconds of a run beside its trials (docs/benchmarks/commands.md)
OVERHEAD = 0.3  # seconds of a sweep for a trial (docs/benchmarks/sweep.md)
ENOUGH = 20  # steps, whose median is known well
GUESSED_SIDE = 64  # pixels of images that are not packed yet
VECTOR = 512  # numbers of a vector that is not packed yet
TESTED = 0.5  # share of the images in an evaluation set: half of the classes test
LOSSES_TIMED = 3  # of the losses and miners that one network is trained with
SIMILAR = (
    *("backbone", "backbone_settings", "batch", "augment", "augment_settings", "precision"),
    *("channels_last", "workers", "device", "frozen", "train_from"),
)


@dataclass(frozen=True)
class Estimate:
    """What a study costs on this machine."""

    study: str
    cells: int
    tuning: int  # trials that tune
    confirming: int  # trials that confirm
    stored: int  # of these, already in the store or a snapshot
    seconds: float | None  # until the others are done; None: not known here
    slots: int  # trials at the same time
    trial_seconds: float | None  # of an average trial
    basis: str  # where the seconds are from

    @property
    def trials(self) -> int:
        """All trials."""
        return self.tuning + self.confirming

    def lines(self) -> list[str]:
        """The estimate as text."""
        left = self.trials - self.stored
        stored = f", {self.stored} of them done already" if self.stored else ""
        cells, trials = counted(self.cells, "cell"), counted(self.trials, "trial")
        work = f"{self.study}: {cells}, {trials} ({self.tuning} to tune, {self.confirming} to confirm){stored}"
        if not left:
            return [f"{work}; nothing to train"]
        if self.seconds is None:
            return [f"{work}; time not known: {self.basis}"]
        at_once = f", {min(self.slots, left)} at the same time" if min(self.slots, left) > 1 else ""
        each = duration_text(self.trial_seconds or 0.0)
        long = "  This is more than an hour. Fewer seeds, trials per cell or steps shorten it; a cluster too."
        return [
            work,
            f"  time: about {duration_text(self.seconds + AROUND)}, {duration_text(AROUND)} of them for stages, "
            f"Ray and report ({counted(left, 'trial')} of {each}{at_once}; {self.basis})",
            "  a cell is one method at one level of wrong labels; a trial trains it once, to try settings (tune) or to "
            "test the best ones on other classes (confirm)",
            *([long] if self.seconds > LONG else []),
        ]


def duration_text(seconds: float) -> str:
    """Seconds as `2.5 s`, `40 s`, `12 min`, `3.5 h` or `4 days`."""
    if seconds < 90:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.2g} h" if seconds < 172_800 else f"{seconds / 86_400:.0f} days"


def estimate(
    study: Study,
    root: Path,
    store: Path,
    results: Path,
    snapshot_outcomes: Mapping[str, Outcome] | None = None,
    seconds: float = 3.0,
) -> Estimate:
    """Estimate what a study costs on this machine."""
    cells = study.cells()
    seeds = len(study.seeds) * study.splits
    tuning = [tuning_trials(study, cell) * study.splits for cell in cells]
    trials = sum(tuning) + len(cells) * seeds
    stored = _stored(study, root, store, results, snapshot_outcomes) if is_prepared(study, root) else 0
    costs: list[float] = []
    basis, mean, total, slots = "", None, None, _slots(study)
    if stored < trials:
        manifests = {dataset.label: images_of(study, dataset.label, root, store) for dataset in study.datasets}
        costs, basis = _trial_seconds(study, cells, manifests, store, seconds)
    if costs:
        mean = sum(cost * (tune + seeds) for cost, tune in zip(costs, tuning, strict=True)) / trials
        total = mean * (trials - stored) / min(slots, trials - stored)
    return Estimate(study.name, len(cells), sum(tuning), len(cells) * seeds, stored, total, slots, mean, basis)


def is_prepared(study: Study, root: Path) -> bool:
    """Whether the data stages have written all labels and stored features that the study's trials train on."""
    needed = [
        (splits.data_name(cell.dataset, split), cell.noise, cell.rate, seed, phase)
        for cell in study.cells()
        for split in range(study.splits)
        for phase, seeds in (("confirm", study.seeds), ("tune", [TUNING_SEED]))
        for seed in seeds
    ]
    try:
        for one in dict.fromkeys(needed):
            describe(root, *one)
        for dataset in study.datasets:
            for training in stored_trainings(study, dataset.label):
                find_features(root, dataset.label, training)
    except (OSError, ValueError, KeyError):
        return False
    return True


def _slots(study: Study) -> int:
    """How many trials run at the same time on this machine."""
    here = {"CPU": cluster.cpus(), "GPU": torch.cuda.device_count()}
    fit = cluster.fits(study.resources, study.training.workers, [here])
    return max(1, min(fit, study.resources.concurrent or fit))


def _stored(
    study: Study, root: Path, store: Path, results: Path, snapshot_outcomes: Mapping[str, Outcome] | None
) -> int:
    """The trials that are stored. A search's later rounds count once the earlier ones are done."""
    ended: list[Any] = []
    trials = TrialStore(store, study.resources.storage, snapshot_outcomes).look()
    rates, starts = Rates(root, store).stored, InitFromFinder(results, store)
    plan = Plan(study, trials, partial(describe, root), starts, rates)
    plan.start(lambda *trial: ended.append(trial))
    return len(ended)


def images_of(study: Study, name: str, root: Path, store: Path) -> dict[str, Any]:
    """What is known of a dataset's images: `height`, `width`, `channels`, often `images`; once packed also `digest`."""
    dataset = study.dataset(name)
    source = sources.build(dataset.name, **dataset.settings)
    packed = (read_json(root / "pack.json") or {}).get(name)
    packed = packed or read_json(store / "packed" / packed_id(source, **dataset.packing) / "manifest.json")
    if packed is not None:
        return packed
    side = dataset.side or GUESSED_SIDE
    manifest: dict[str, Any] = {"height": side, "width": side, "channels": 3}
    if dataset.passes_on is not None:
        manifest = {"height": 1, "width": 1, "channels": VECTOR, "decode": VECTORS}
    images = source.counts.get("all", {}).get("images")
    if images is None and source.root is not None and Path(source.root).is_dir():  # a user's own files
        images = sum(1 for _ in source.images(store / "raw" / dataset.raw))
    return manifest if images is None else {**manifest, "images": images}


def spec_of(study: Study, cell: Cell, manifest: Mapping[str, Any]) -> TrialSpec:
    """A cell's first confirmed trial, as far as its cost depends on it."""
    digests = {"packed": str(manifest.get("digest", "")), "split": "", "labels": ""}
    spec = specs.build(study, cell, "confirm", study.seeds[0], {}, digests, lambda *_: InitFromSpec("", ""))
    return specs.with_rate(spec, lambda spec: cell.rate)


def _trial_seconds(
    study: Study, cells: Sequence[Cell], manifests: Mapping[str, Mapping[str, Any]], store: Path, seconds: float
) -> tuple[list[float], str]:
    """Seconds of a trial of each cell, and where they are from. Empty: they are not known here."""
    trials = [spec_of(study, cell, manifests[cell.dataset]) for cell in cells]
    kinds: dict[str, list[TrialSpec]] = defaultdict(list)
    for spec in trials:
        kinds[_kind(keys.record(spec)["spec"])].append(spec)
    step_seconds, count = _earlier(store, kinds)
    missing = [kind for kind in kinds if kind not in step_seconds]
    if missing and trials[0].training.device == "cuda" and not torch.cuda.is_available():
        return [], "it needs a GPU, which this machine lacks"
    timings: dict[str, tuple[float, float]] = {}  # of a step, and of an image
    threads = int(study.resources.cpus_per_trial)
    for number, kind in enumerate(missing):
        some = kinds[kind][:: -(-len(kinds[kind]) // LOSSES_TIMED)]
        manifest, budget = manifests[some[0].dataset.name], seconds / len(missing) / len(some)
        records = [keys.canonical(keys.record(spec)) for spec in some]
        what = [records, {**manifest, "digest": ""}, threads, torch.__version__, platform.node(), os.cpu_count()]
        path = store / "remembered" / f"timing-{study.name}-{number}.json"
        time_all = partial(_time_all, some, manifest, budget, threads)
        try:
            each = files.remembered(path, what, (), time_all)
        except ValueError:
            raise
        except Exception as error:  # of any part, also another package's
            parts = f"loss {some[0].loss.name!r}, backbone {some[0].training.backbone!r}"
            return [], f"a step could not be timed: {files.first_line(error)} ({parts})"
        timings[kind] = fmean(step for step, _ in each), fmean(image for _, image in each)
    costs = []
    for spec in trials:
        kind, steps = _kind(keys.record(spec)["spec"]), spec.training.total_steps
        if kind in step_seconds:
            costs.append(step_seconds[kind] * max(1, steps) + OVERHEAD)
            continue
        step, image = timings[kind]
        times = math.ceil(steps / spec.evaluation.every) if spec.evaluation.every else 1
        images = manifests[spec.dataset.name].get("images", 0) * TESTED * len(spec.evaluation.sets)
        views = 2 if spec.evaluation.views == "mirror" else 1
        costs.append(step * steps + max(1, times) * images * views * image + OVERHEAD)
    basis = [f"as {count} similar trials in the store"] * bool(count)
    basis += ["by timing a few steps on random images"] * bool(missing)
    return costs, ", ".join(basis)


def _time_all(specs: Sequence[TrialSpec], *arguments: Any) -> list[tuple[float, float]]:
    return [time_steps(spec, *arguments) for spec in specs]


def _kind(record: Mapping[str, Any]) -> str:
    """Trials of one kind have the same images, network and batch, so their steps take about the same time."""
    training = record.get("training", {})
    similar = {name: training.get(name) for name in SIMILAR} | {"trains": training.get("steps") != 0}
    similar |= {"views": record.get("evaluation", {}).get("views"), "images": record.get("dataset", {}).get("packed")}
    return keys.canonical(similar)


def _earlier(store: Path, kinds: Mapping[str, object]) -> tuple[dict[str, float], int]:
    """Seconds per step of the finished trials in the store by their kind, and of how many trials. Evaluations count."""
    taken: dict[str, list[tuple[int, float]]] = defaultdict(list)
    trials = TrialStore(store)
    for key, content, ended in trials.records():
        if not ended or (kind := _kind(content["spec"])) not in kinds:
            continue
        outcome, training = trials.read(key), content["spec"].get("training", {})
        steps = training.get("stop_at", training.get("steps", TrainingSpec.steps))
        if outcome is not None and outcome.status == FINISHED and (steps or training.get("steps") == 0):
            taken[kind].append((max(1, steps), outcome.seconds))
    by_kind = {kind: sum(s for _, s in pairs) / sum(steps for steps, _ in pairs) for kind, pairs in taken.items()}
    return by_kind, sum(map(len, taken.values()))


def time_steps(spec: TrialSpec, manifest: Mapping[str, Any], seconds: float, threads: int = 1) -> tuple[float, float]:
    """Seconds of a training step, and of embedding a view of an image, on random images. Downloads no weights."""
    training = spec.training
    device, batch = torch.device(training.device), training.batch
    shape = (batch.size, manifest["channels"], manifest["height"], manifest["width"])
    classes = max(2, batch.classes)
    one: tuple[int, ...] = shape[1:]
    with on_threads(max(1, threads)), torch.random.fork_rng(devices=[]):
        network = describe_model(spec, _data(manifest))["network"]
        model: Any = models.build(**{**network, **models.find(training.backbone).without_weights(network)})
        images = torch.randint(0, 256, shape, dtype=torch.uint8)
        if training.frozen:
            width, size = int(model.backbone.features), training.embedding_size
            model = models.build_head(width, embedding_size=size, **describe_head(training))
            images = torch.rand(batch.size, width, 1, 1)
        elif training.train_from is not None:
            model.backbone = models.FromBlock(model.backbone, training.train_from, image_shape(training, manifest))
            one = stored_shape(training, manifest)[1:]
            images = torch.rand(batch.size, math.prod(one), 1, 1)  # as `StoredViews`
        model, images = model.to(device), images.to(device)
        loss = build_loss(spec, classes, model.embedding_size).to(device)
        mine, augment = build_miner(spec, loss), build_augment(spec, _data(manifest, one))
        optimizer, _ = build_optimizer(replace(training, steps=1), model, loss)
        labels = torch.arange(batch.size).remainder(classes).to(device)
        generator = torch.Generator(device=device).manual_seed(0)

        def embed(trains: bool) -> Tensor:
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=training.precision == "bfloat16"):
                return model(augment(images, training=trains, generator=generator if trains else None)).float()

        def step() -> None:
            embeddings = embed(trains=True)
            truth = {"truth": labels} if getattr(mine, "takes_truth", False) else {}
            tuples = None if mine is None else mine(embeddings.detach(), labels, generator=generator, **truth)
            optimizer.zero_grad(set_to_none=True)
            loss(embeddings, labels, tuples).backward()
            optimizer.step()

        step_seconds = _typical_seconds(step, seconds, device) if training.total_steps else 0.0
        model.eval()
        with torch.inference_mode():
            image_seconds = _typical_seconds(lambda: embed(trains=False), seconds / 4, device) / batch.size
    return step_seconds, image_seconds


def _data(manifest: Mapping[str, Any], one: tuple[int, ...] = ()) -> TrialData:
    """All that networks and augmentations need to know of the data. `one`: the shape of an image."""
    return cast(TrialData, SimpleNamespace(packed=SimpleNamespace(manifest=manifest, images=SimpleNamespace(one=one))))


def _typical_seconds(work: Callable[[], Any], seconds: float, device: torch.device) -> float:
    alone = device.type == "cpu" and torch.get_num_threads() == 1
    clock = time.process_time if alone else time.perf_counter  # so that other processes do not count
    times: list[float] = []
    while not times or (sum(times[1:]) < seconds and times[0] <= seconds and len(times) <= ENOUGH):
        started = clock()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        times.append(clock() - started)
    return median(times[1:] or times)  # the first also allocates memory; other processes delay some of the others
