"""What the trials of a study take: seconds, from earlier trials or by timing, and what is known of their images."""

from __future__ import annotations

import json
import math
import os
import platform
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean, linear_regression, median
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor

from dml import evaluation, files, models
from dml.config import Study
from dml.data import DataError, sources
from dml.data.packing import of_vectors, packed_id
from dml.data.packing.decoding import CorruptImage, header
from dml.data.packing.listing import MALFORMED
from dml.data.packing.opening import VECTORS
from dml.files import read_json, remembered
from dml.models import EmbeddingNetwork
from dml.protocols import Source, VectorSource
from dml.sweep.plan import keys, specs
from dml.sweep.store.trials import FINISHED, TrialStore
from dml.training.build import build_augment, build_loss, build_miner, describe_model
from dml.training.closed_form import FITTED
from dml.training.data import TrialData
from dml.training.frozen.recipe import describe_head, image_shape, stored_shape
from dml.training.optimizers import build_optimizer
from dml.types import Cell, InitFromSpec, TrainingSpec, TrialSpec

SCORED = 4000  # embeddings that are scored to time it
CLASSES = 50  # of these
ENOUGH = 20  # steps, whose median is known well


@dataclass(frozen=True)
class Timing:
    """What a trial's network costs."""

    step_seconds: float  # of a training step
    image_seconds: float  # of embedding a view of an image, to evaluate
    length: int = 1  # of an embedding


class NotTimed(RuntimeError):
    """A step failed while it was timed."""


def time_steps(spec: TrialSpec, manifest: Mapping[str, Any], seconds: float, threads: int = 1) -> Timing:
    """Time training steps of a trial, and embedding without gradients, on random images. Downloads no weights.

    Parameters
    ----------
    spec : the trial; it trains on `training.device`.
    manifest : `height`, `width` and `channels` of the packed images.
    seconds : to spend. A step that takes longer is timed once.
    threads : of the CPU for one trial.

    Raises
    ------
    ValueError : a part rejects its settings.
    NotTimed : a step failed in another way.
    """
    device, batch = torch.device(spec.training.device), spec.training.batch
    shape = (batch.size, manifest["channels"], manifest["height"], manifest["width"])
    classes = max(2, batch.classes)
    with _threads(threads), torch.random.fork_rng(devices=[]):
        model, images = _network(spec, manifest), torch.randint(0, 256, shape, dtype=torch.uint8)
        one: tuple[int, ...] = shape[1:]
        if spec.training.frozen:
            model, images = _head(spec, model), torch.rand(batch.size, model.backbone.features, 1, 1)
        elif spec.training.train_from is not None:
            of_one = image_shape(spec.training, manifest)
            model.backbone = models.FromBlock(model.backbone, spec.training.train_from, of_one)  # type: ignore[assignment]
            one = stored_shape(spec.training, manifest)[1:]
            images = torch.rand(batch.size, math.prod(one), 1, 1)  # as `StoredViews`
        model, images = model.to(device), images.to(device)
        loss = build_loss(spec, classes, model.embedding_size).to(device)
        mine, augment = build_miner(spec, loss), build_augment(spec, _data(manifest, one))
        optimizer, _ = build_optimizer(replace(spec.training, steps=1), model, loss)
        labels = torch.arange(batch.size).remainder(classes).to(device)
        generator = torch.Generator(device=device).manual_seed(0)

        def embed(training: bool) -> Tensor:
            half = spec.training.precision == "bfloat16"
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=half):
                return model(augment(images, training=training, generator=generator if training else None)).float()

        def step() -> None:
            if not spec.training.total_steps:  # in closed form
                return
            embeddings = embed(training=True)
            truth = {"truth": labels} if getattr(mine, "takes_truth", False) else {}
            tuples = None if mine is None else mine(embeddings.detach(), labels, generator=generator, **truth)
            optimizer.zero_grad(set_to_none=True)
            loss(embeddings, labels, tuples).backward()
            optimizer.step()

        try:
            step_seconds = _typical_seconds(step, seconds, device)
            model.eval()
            with torch.inference_mode():
                image_seconds = _typical_seconds(lambda: embed(training=False), seconds / 4, device) / batch.size
        except ValueError:
            raise
        except Exception as error:  # of any part, also another package's
            parts = f"loss {spec.loss.name!r}, backbone {spec.training.backbone!r}"
            raise NotTimed(f"a step could not be timed: {files.first_line(error)} ({parts})") from error
    return Timing(step_seconds, image_seconds, model.embedding_size)


def time_scores(spec: TrialSpec, images: int, length: int, threads: int = 1) -> float:
    """Seconds to score one evaluation of so many images, once they are embedded in so many dimensions.

    Timed on random embeddings. For more than `SCORED`, seconds grow as from half of these to all: with the number of
    images for clusterings, with its square for neighbours.

    Raises
    ------
    NotTimed : a metric failed.
    """
    wanted, most = spec.evaluation, min(images, SCORED)

    def score(rows: int) -> float:
        embeddings = torch.rand(rows, length, generator=torch.Generator().manual_seed(0))
        started = time.perf_counter()
        evaluation.evaluate(
            embeddings,
            {level: torch.arange(rows) % CLASSES for level in spec.dataset.evaluate_on},
            metrics=list(wanted.metrics),
            over_clustering=wanted.over_clustering,
        )
        return time.perf_counter() - started

    try:
        with _threads(threads), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few samples for many clusters
            score(min(most, CLASSES))  # imports
            seconds, half = score(most), score(most // 2) if images > most else 0.0
    except Exception as error:  # of any metric
        raise NotTimed(f"an evaluation could not be timed: {files.first_line(error)}") from error
    if images <= most:
        return seconds
    power = min(2.0, max(1.0, math.log2(seconds / half)))
    return float(seconds * (images / most) ** power)


def _data(manifest: Mapping[str, Any], one: tuple[int, ...] = ()) -> TrialData:
    """All that networks and augmentations need to know of the data. `one`: the shape of an image."""
    images = SimpleNamespace(one=one)
    return cast(TrialData, SimpleNamespace(packed=SimpleNamespace(manifest=manifest, images=images)))


def _network(spec: TrialSpec, manifest: Mapping[str, Any]) -> EmbeddingNetwork:
    network = describe_model(spec, _data(manifest))["network"]
    offline = models.find(spec.training.backbone).without_weights(network)
    return models.build(**{**network, **offline})


def _head(spec: TrialSpec, whole: EmbeddingNetwork) -> EmbeddingNetwork:
    """What a frozen trial trains."""
    training, width = spec.training, int(whole.backbone.features)  # type: ignore[arg-type]
    return models.build_head(width, embedding_size=training.embedding_size, **describe_head(training))


def _typical_seconds(work: Callable[[], Any], seconds: float, device: torch.device) -> float:
    def timed() -> float:
        started = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter() - started

    first = timed()  # it also allocates memory, so it counts only if there is no time for others
    if first > seconds:
        return first
    found = [timed()]
    while sum(found) < seconds and len(found) < ENOUGH:
        found.append(timed())
    return median(found)  # other processes delay some steps


@contextmanager
def _threads(number: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(max(1, number))
    try:
        yield
    finally:
        torch.set_num_threads(before)


OVERHEAD = 0.3  # seconds of a sweep for a trial (docs/benchmarks/sweep.md)
GUESSED_SIDE = 64  # pixels of images whose size is not known before they are packed
TESTED = 0.5  # share of the images in an evaluation set: half of the classes test
LOSSES_TIMED = 3  # of the losses and miners that one network is trained with
SIMILAR: tuple[str, ...] = ("backbone", "backbone_settings", "batch", "augment", "augment_settings", "precision")
SIMILAR += ("channels_last", "workers", "device", "frozen", "train_from")


def images_of(study: Study, name: str, root: Path, store: Path) -> dict[str, Any]:
    """What is known of a dataset's images: `height`, `width`, `channels`, often `images`; once packed also `digest`.

    Raises
    ------
    DataError : a source of vectors has other labels than vectors, or none.
    """
    packed = (read_json(root / "pack.json") or {}).get(name)
    dataset = study.dataset(name)
    source = sources.build(dataset.name, **dataset.settings)
    if packed is None:
        own = packed_id(source, **dataset.packing)
        packed = read_json(store / "packed" / own / "manifest.json")
    if packed is not None:
        return packed
    raw = store / "raw" / dataset.raw
    if isinstance(source, VectorSource):
        return _shape_of_vectors(source, raw)
    known = _first_shape(source, raw)
    if dataset.side is not None:
        known |= {"height": dataset.side, "width": dataset.side}
    images = source.counts.get("all", {}).get("images")
    if images is None and source.root is not None and Path(source.root).is_dir():  # a user's own files
        images = sum(1 for _ in source.images(raw))
    return known if images is None else {**known, "images": images}


def _first_shape(source: Source, raw: Path) -> dict[str, Any]:
    """`height`, `width` and `channels` of all images if known, else of the first one; a guess without files."""
    known = getattr(source, "shape", None)
    if known is not None:
        return dict(zip(("height", "width", "channels"), known, strict=True))
    try:
        height, width, grey = header(next(iter(source.images(raw)))["image"])
    except (DataError, CorruptImage, StopIteration, *MALFORMED):
        return {"height": GUESSED_SIDE, "width": GUESSED_SIDE, "channels": 3, "guessed": True}
    return {"height": height, "width": width, "channels": 1 if grey else 3}


def _shape_of_vectors(source: Any, raw: Path) -> dict[str, Any]:
    """What a packed folder would say of vectors, after the source's own checks, which fetch nothing."""
    source.download(raw, report=lambda line: None)
    images, width = source.vectors(raw).shape
    return {"images": images, "height": 1, "width": 1, "channels": width, "decode": VECTORS}


def bytes_to_pack(manifest: Mapping[str, Any]) -> int:
    """Bytes of a dataset that packing will write, as far as known."""
    if "digest" in manifest:
        return 0
    numbers = manifest.get("images", 0) * manifest["height"] * manifest["width"] * manifest["channels"]
    return numbers * (4 if of_vectors(manifest) else 1)


def spec_of(study: Study, cell: Cell, manifest: Mapping[str, Any]) -> TrialSpec:
    """A cell's first confirmed trial, as far as its cost depends on it."""
    digests = {"packed": str(manifest.get("digest", "")), "split": "", "labels": ""}
    spec = specs.build(study, cell, "confirm", study.seeds[0], {}, digests, lambda *asked: InitFromSpec("", ""))
    return specs.with_rate(spec, lambda spec: cell.rate)


def trial_seconds(
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
    timings, threads = {}, int(study.resources.cpus_per_trial)
    try:
        for number, kind in enumerate(missing):
            some = kinds[kind][:: -(-len(kinds[kind]) // LOSSES_TIMED)]
            shown, budget = manifests[some[0].dataset.name], seconds / len(missing) / len(some)
            records = [json.loads(keys.canonical(keys.record(spec))) for spec in some]
            what = [records, {**shown, "digest": ""}, threads, torch.__version__, platform.node(), os.cpu_count()]
            path = store / "remembered" / f"timing-{study.name}-{number}.json"
            timings[kind] = _Timings(*remembered(path, what, (), partial(_timed, some, shown, budget, threads)))
    except NotTimed as error:
        return [], str(error)
    costs = []
    for spec in found:
        kind = _kind(spec)
        if kind in earlier:
            costs.append(_seconds(earlier[kind], spec.training.total_steps) + OVERHEAD)
        else:
            step, image, scores = timings[kind]
            images = _evaluated(manifests[spec.dataset.name])
            evaluation = image * images * (2 if spec.evaluation.views == "mirror" else 1) + scores
            refit = 0.0 if spec.training.head_refit is None else image * min(images, FITTED)
            evaluating = _evaluations(spec) * (len(spec.evaluation.sets) * evaluation + refit)
            costs.append(step * spec.training.total_steps + evaluating + OVERHEAD)
    measured = sum(map(len, earlier.values()))
    parts = [f"as {measured} similar trials in the store"] if measured else []
    parts += ["by timing a few steps and an evaluation on random images"] if missing else []
    once = {
        "features": any(spec.training.frozen and spec.training.backbone != "identity" for spec in found),
        "activations": any(spec.training.train_from is not None for spec in found),
    }
    if any(once.values()):
        parts.append(f"without the {' and '.join(name for name, used in once.items() if used)}, computed once before")
    guesses = [name for name, manifest in manifests.items() if "guessed" in manifest]
    if guesses and missing:
        parts.append(f"a guess, as the images of {', '.join(guesses)} are not here yet")
    return costs, ", ".join(parts)


class _Timings(NamedTuple):
    """Seconds of a step, of embedding an image, and of scoring an evaluation."""

    step: float
    image: float
    scores: float


def _timed(specs: Sequence[TrialSpec], manifest: Mapping[str, Any], seconds: float, threads: int) -> _Timings:
    """The mean over trials that differ in their losses."""
    found = [time_steps(spec, manifest, seconds, threads) for spec in specs]
    images = _evaluated(manifest)
    scores = time_scores(specs[0], images, found[0].length, threads) if images else 0.0
    return _Timings(fmean(one.step_seconds for one in found), fmean(one.image_seconds for one in found), scores)


def _seconds(earlier: Sequence[tuple[int, float]], steps: int) -> float:
    """Seconds of a trial of so many steps, by a line through (steps, seconds) of similar ones.

    A trial that stopped early, at step 0 for one, took seconds to start and to evaluate as well.
    """
    taken, seconds = zip(*earlier, strict=True)
    if len(set(taken)) > 1:
        slope, start = linear_regression(taken, seconds)
        if slope >= 0 and start >= 0:
            return slope * steps + start
    return sum(seconds) / max(1, sum(taken)) * max(1, steps)


def _evaluations(spec: TrialSpec) -> int:
    """How often a trial evaluates its sets."""
    times = math.ceil(spec.training.total_steps / spec.evaluation.every) if spec.evaluation.every else 1
    return max(1, times)


def _evaluated(manifest: Mapping[str, Any]) -> int:
    """Images of an evaluation set, and about as many train; 0 if their number is not known."""
    return int(manifest.get("images", 0) * TESTED)


def _kind(spec: TrialSpec) -> str:
    """Trials of one kind have the same images, network and batch, so their steps take about the same time."""
    return _kind_of(json.loads(keys.canonical(keys.record(spec)))["spec"])


def _kind_of(record: Mapping[str, Any]) -> str:
    training, dataset = record.get("training", {}), record.get("dataset", {})
    similar = {name: training.get(name) for name in SIMILAR} | {"trains": training.get("steps") != 0}
    similar |= {"views": record.get("evaluation", {}).get("views")}
    return json.dumps([dataset.get("packed"), similar], sort_keys=True)


def _earlier(store: Path, kinds: Container[str]) -> dict[str, list[tuple[int, float]]]:
    """Steps and seconds of the finished trials in the store of some kinds, where one of a kind trained if it is to."""
    found: dict[str, list[tuple[int, float]]] = defaultdict(list)
    trials = TrialStore(store)
    for key, content, ended in trials.records():
        kind = _kind_of(content["spec"]) if ended else ""
        if kind not in kinds:
            continue
        outcome = trials.read(key)
        if outcome is not None and outcome.status == FINISHED:
            training = content["spec"].get("training", {})
            steps = training.get("stop_at", training.get("steps", TrainingSpec.steps))
            found[kind].append((steps, outcome.seconds))
    return {kind: own for kind, own in found.items() if any(steps for steps, _ in own) or not _trains(kind)}


def _trains(kind: str) -> bool:
    return bool(json.loads(kind)[1]["trains"])
