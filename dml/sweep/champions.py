"""Trains a champion in this process, from its checkpoint if it was interrupted."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from dml import noise
from dml.config import Study
from dml.config.parts import ESTIMATED
from dml.data import augment as augmentations
from dml.data import sources, splits
from dml.data.packing import Packed, of_vectors
from dml.files import locked, read_json, replacing, sha256, write_json
from dml.sweep.execution.trial_run import now, training
from dml.sweep.inputs.rates import Rates
from dml.sweep.plan import keys, specs
from dml.sweep.plan.space import space_of
from dml.sweep.progress.results import git_commit, versions
from dml.sweep.store.init_from import InitFromFinder
from dml.training.data import describe, open_packed_of
from dml.training.frozen.extraction import extract
from dml.training.frozen.recipe import of_whole_backbone
from dml.training.model_files import WEIGHTS
from dml.training.process import keep_freed_memory
from dml.training.resuming import discard
from dml.types import Cell, EvaluationSpec, NoiseSpec, TrialSpec

NO_NOISE = "uniform", 0.0  # the noise that is added


@dataclass(frozen=True)
class AllImages:
    """The training data of a champion."""

    rows: np.ndarray  # int64 (n,): rows in the packed array
    observed: np.ndarray  # int64 (n,): their labels; -1: left out
    labels: str  # what they are: `as given`, or the file
    labels_sha256: str | None  # of the file

    @property
    def counts(self) -> dict[str, int]:
        """`images`, `classes` and `left_out`."""
        kept = self.observed[self.observed >= 0]
        return {"images": len(kept), "classes": len(np.unique(kept)), "left_out": len(self.rows) - len(kept)}


def all_images(study: Study, dataset: str, packed: Packed, labels: Path | None = None) -> AllImages:
    """Every image with a label that the study does not leave unused.

    Labels are those given where a dataset has both given and verified ones; no noise is added.
    """
    section = study.dataset(dataset)
    index = packed.index
    source = sources.build(section.name, **section.settings)
    used = np.zeros(len(index), dtype=bool)
    for split in splits.by_seed(index, source).values():
        used |= (split["final"] != "unused").to_numpy()
        if "final_given" in split:
            used |= (split["final_given"] != "unused").to_numpy()
    given = splits.given_labels(index, section.train_on)
    rows = np.flatnonzero(used & (given >= 0)).astype(np.int64)
    observed, digest = given[rows], None
    if labels is not None:
        paths = index["path"].to_numpy()[rows]
        observed = noise.build("label_file", path=labels).corrupt(observed, 0, index=rows, paths=paths).observed
        digest = sha256(labels)
    images = AllImages(rows, observed, "as given" if labels is None else str(labels), digest)
    if images.counts["classes"] < 2:
        raise ValueError(f"dataset {dataset!r}: {images.labels}: expected labels of at least 2 classes")
    return images


def write(data: AllImages, dataset: str, seed: int, data_root: Path, out: Path) -> dict[str, str]:
    """Write the data into `out` as a trial opens it. Returns its digests, as in `DatasetSpec`."""
    manifest = json.loads((data_root / "pack.json").read_text(encoding="utf-8"))[dataset]
    write_json(out / "pack.json", {dataset: {**manifest, "folder": _from(out, data_root / manifest["folder"])}})
    count = len(open_packed_of(data_root, dataset).index)
    split = pd.DataFrame({"index": np.arange(count), "final": "unused", "tune": "unused"})
    split.loc[data.rows, "final"] = "train"
    splits.save(split, out / "split" / f"{dataset}.parquet")
    model, rate = NO_NOISE
    table = pd.DataFrame({"noise": model, "rate": rate, "seed": seed, "phase": "confirm", "index": data.rows})
    with replacing(out / "noise" / f"{dataset}.parquet") as temporary:
        table.assign(observed=data.observed, flipped=False).to_parquet(temporary, index=False)
    return describe(out, dataset, model, rate, seed, "confirm")


def _from(out: Path, folder: Path) -> str:
    return os.path.relpath(folder.resolve(), out.resolve())


@dataclass(frozen=True)
class Winner:
    """What to train: a winner's settings."""

    study: Study
    cell: Cell
    settings: dict[str, Any]  # of a confirmed trial of the cell, by dotted names
    rate: float | None  # the share of the labels that are wrong; None: estimated for a filter that assumes one
    recipe: dict[str, Any]  # of the study, for the card
    labels: Path | None = None  # a label file in place of the dataset's labels


CARD = "champion.json"
PACKAGES = ("torch", "torchvision", "numpy", "safetensors", "timm")


def write_card(
    folder: Path, winner: Winner, spec: TrialSpec, images: AllImages, key: str, seconds: float
) -> dict[str, Any]:
    """Write the card of a model beside its weights in `folder`, and return it. `seconds`: of training."""
    described = read_json(folder / "model.json")
    section = winner.study.dataset(spec.dataset.name)
    earlier = read_json(folder / CARD) or {}
    used = {"parts": keys.versions(spec), "packages": versions(PACKAGES), "git_commit": git_commit()}
    card = {
        "study": winner.study.name,
        "key": key,
        "made": earlier.get("made", now()),
        "weights_sha256": sha256(folder / WEIGHTS),
        "network": described["network"],
        "preprocessing": preprocessing(described),
        "normalize": described["normalize"],
        "views": described.get("views", "one"),
        "dataset": {
            "name": spec.dataset.name,
            "source": section.name,
            "options": section.settings,
            "resize": section.packing["resize"],
            "train_on": section.train_on,
            "images_digest": spec.dataset.packed,
            "labels": images.labels,
            "labels_digest": spec.dataset.labels,
            "labels_sha256": images.labels_sha256,
            **images.counts,
        },
        "training": {"spec": _plain(spec), "seconds": round(seconds, 1)},
        "recipe": winner.recipe,
        "scores": "The recipe's: of networks with these settings on classes or images that they did not see. "
        "The champion was trained on all images, so it has none of its own.",
        "versions": earlier.get("versions", used),  # those that trained it
    }
    write_json(folder / CARD, card)
    return card


def _plain(spec: TrialSpec) -> dict[str, Any]:
    """A spec as plain values, with the names of settings that keys have."""
    content = asdict(spec)
    content["training"]["start"] = content["training"].pop("init_from")
    return content


def preprocessing(described: dict[str, Any]) -> dict[str, Any]:
    """What happens to an image before the network of a `model.json`: its size, then (pixel / 255 - mean) / std.

    Both are measured on a black and a white image, so that they are right for any augmentation.
    """
    shape = described["image_shape"]
    if described["augment"] is None:
        return {"input": "float32 vectors", "shape": shape}
    augment = augmentations.build(**described["augment"])
    resize = described.get("resize", {})
    filtered = resize.get("interpolation", "bilinear")
    cropped = f", from the central square of {resize['crop']:g} of the shorter side" if "crop" in resize else ""
    height, width, channels = shape
    flat = [torch.full((1, channels, height, width), value, dtype=torch.uint8) for value in (0, 255)]
    black, white = (augment(image, training=False).double() for image in flat)
    std = 1 / (white - black).mean(dim=(0, 2, 3))
    mean = 0 - black.mean(dim=(0, 2, 3)) * std
    return {
        "input": f"uint8 images, resized to `shape` (height, width, channels) by Pillow's {filtered} filter{cropped}",
        "shape": shape,
        "network_shape": list(black.shape[1:]),
        "mean": np.round(mean.numpy(), 6).tolist(),
        "std": np.round(std.numpy(), 6).tolist(),
        "augment": described["augment"],
    }


KEY_DIGITS = 16
CHECKPOINTS = 20  # about

Progress = Callable[[int, int], None]
"""(steps done, all steps), after each of about `CHECKPOINTS` parts."""


@dataclass(frozen=True)
class Champion:
    """A trained champion."""

    folder: Path  # its model: weights, `model.json`, and the card
    spec: TrialSpec
    key: str  # of everything that decides its weights
    card: dict[str, Any]


def train_champion(
    winner: Winner,
    name: str,
    data_root: Path,
    store: Path,
    results: Path,
    progress: Progress = lambda step, total: None,
    report: Callable[[str], None] = print,
) -> Champion:
    """Train a champion, or find the one that was trained from the same settings and data.

    An interrupted training resumes from its checkpoint. `store/champions/<name>/` contains the data's lists, and a
    folder for each champion of this name.

    Parameters
    ----------
    data_root : the outputs of the study's data stages (`data/<study>`), at least packed images.
    results : the folder with the results of all studies, for `training.init_from`.

    Raises
    ------
    FileNotFoundError : the images are not packed.
    ValueError : labels or settings do not fit the images, or the machine lacks what the study asks for.
    RuntimeError : another process trains a champion of this name.
    """
    place, dataset = store / "champions" / name, winner.cell.dataset
    git_commit()  # of the code that runs
    with locked(place / "lock", wait=False):
        packed = open_packed_of(data_root, dataset)
        images = all_images(winner.study, dataset, packed, winner.labels)
        digests = write(images, dataset, winner.study.seeds[0], data_root, place / "data")
        spec = champion_spec(winner, digests, InitFromFinder(results, store))
        if spec.training.stored and not of_vectors(packed.manifest):
            needed = [spec.training]
            if spec.filter is not None and of_whole_backbone(spec.training) != spec.training:
                needed.append(of_whole_backbone(spec.training))  # from which a filter's rate is estimated
            folders = [extract(packed, training, store / "features", report=report) for training in needed]
            named = {folder.name: {"folder": _from(place / "data", folder)} for folder in folders}
            write_json(place / "data" / "features.json", {dataset: named})
        spec = specs.with_rate(spec, Rates(place / "data", store, report))
        key = keys.key(spec)
        folder = place / key[:KEY_DIGITS]
        earlier = read_json(folder / "model" / CARD)
        if earlier is not None:
            seconds = earlier["training"]["seconds"]
            report(f"{folder}: trained already")
        else:
            counts = images.counts
            omitted = f", {counts['left_out']} left out" if counts["left_out"] else ""
            report(
                f"{name}: training on {counts['images']} images of {counts['classes']} classes ({images.labels}"
                f"{omitted}), {spec.training.total_steps} steps{', in one process' * (spec.training.workers > 1)}"
            )
            seconds = _train(spec, place / "data", folder, progress)
        card = write_card(folder / "model", winner, spec, images, key, seconds)
        discard(folder)
    return Champion(folder / "model", spec, key, card)


def _train(spec: TrialSpec, data_root: Path, folder: Path, progress: Progress) -> float:
    """Train to the end. Returns the seconds of training, those before an interruption included."""
    keep_freed_memory()
    trainer = training(spec, data_root, folder, spec.training.device)
    try:
        while not trainer.finished:
            progress(trainer.advance().step, spec.training.total_steps)
        return trainer.result().seconds
    finally:
        trainer.close()


def champion_spec(
    winner: Winner, digests: Mapping[str, str], find_init_from: specs.FindInitFrom | None = None
) -> TrialSpec:
    """The spec of a trial with the winner's settings on data with labels as they are. Nothing is evaluated.

    A filter assumes the winner's noise rate, unless the study sets or searches what it assumes; of an unknown rate the
    spec says `estimated`, as a trial's (`specs.with_rate`).
    """
    study, cell, settings = winner.study, winner.cell, winner.settings
    searched = {name: settings[name] for name in (*space_of(study, cell), specs.STOP_AT) if name in settings}
    seed = study.seeds[0]
    spec = specs.build(study, cell, "confirm", seed, searched, digests, find_init_from)
    assumed: Any = ESTIMATED if winner.rate is None else winner.rate
    spec = replace(spec, filter=specs.filter_of(replace(cell, rate=assumed), searched))
    spec = specs.with_rate(spec, lambda _: assumed)
    if spec.training.device == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            f"study {study.name!r} trains on a GPU (section resources), and torch finds none on this machine"
        )
    every = max(1, spec.training.total_steps // CHECKPOINTS)
    evaluation = EvaluationSpec(every=every, sets=(), metrics=spec.evaluation.metrics, views=spec.evaluation.views)
    return replace(spec, noise=NoiseSpec(*NO_NOISE), evaluation=evaluation, protocol=TrialSpec.protocol)
