"""What the trials of a study take: seconds, from earlier trials or by timing, and what is known of their images."""

from __future__ import annotations

import json
import math
import os
import platform
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean, linear_regression
from typing import Any, NamedTuple

import torch

from dml.config import Study
from dml.data import DataError, sources
from dml.data.packing import of_vectors, packed_id
from dml.data.packing.decoding import CorruptImage, header
from dml.data.packing.listing import MALFORMED
from dml.data.packing.opening import VECTORS
from dml.files import read_json, remembered
from dml.protocols import Source, VectorSource
from dml.sweep.cost.timing import NotTimed, time_scores, time_steps
from dml.sweep.plan import keys, specs
from dml.sweep.store.trials import FINISHED, TrialStore
from dml.training.closed_form import FITTED
from dml.types import Cell, InitFromSpec, TrainingSpec, TrialSpec

OVERHEAD = 0.3  # seconds of a sweep for a trial (docs/benchmarks/sweep.md)
GUESSED_SIDE = 64  # pixels of images whose size is not known before they are packed
TESTED = 0.5  # share of the images in an evaluation set: half of the classes test
LOSSES_TIMED = 3  # of the losses and miners that one network is trained with
SIMILAR: tuple[str, ...] = ("backbone", "backbone_settings", "batch", "augment", "augment_settings", "precision")
SIMILAR += ("channels_last", "workers", "device", "frozen", "head", "train_from")


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
