"""From a cell and settings to a `TrialSpec`, and from that to the trial's key.

The key is the SHA-256 of the canonical JSON of all that decides the result. A dataset's name in the study is not part
of it (the digests of its packed images, its split and its labels are), so two studies share trials that are the same.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from dml.config import Study
from dml.discovery import metric_part
from dml.training.numerics import version
from dml.types import Cell, TrialSpec

Describe = Callable[[str, str, float, int, str], Mapping[str, str]]
"""(dataset, noise, rate, seed, phase) -> digests of all the data that such a trial sees."""


def build(
    study: Study, cell: Cell, phase: str, seed: int, settings: Mapping[str, Any], digests: Mapping[str, str]
) -> TrialSpec:
    """What one trial runs: the cell, with `settings` (`loss.margin`, ...) filled in."""
    chosen: dict[str, dict[str, Any]] = {"loss": {}, "miner": {}, "training": {}}
    for name, value in settings.items():
        room, _, key = name.partition(".")
        chosen[room][key] = value
    dataset = study.dataset(cell.dataset)
    noise = next(n for n in study.noise if n.model == cell.noise and cell.rate in n.rates)
    evaluation = study.evaluation.model_dump(mode="json")
    if phase == "tune":
        evaluation |= {"sets": ["validation"], "keep_embeddings": False}
    return TrialSpec(
        phase=phase,
        seed=seed,
        dataset={
            "name": cell.dataset,
            "train_on": dataset.train_on,
            "evaluate_on": list(dataset.evaluate_on),
            **digests,
        },
        noise={"model": cell.noise, "rate": cell.rate, "settings": dict(noise.settings)},
        loss={"name": cell.loss.name, "settings": {**cell.loss.settings, **chosen["loss"]}},
        miner=_miner(study, cell, chosen["miner"]),
        training={
            **study.training.model_dump(mode="json", exclude={"search"}),
            **chosen["training"],
            "device": "cuda" if study.resources.gpus_per_trial else "cpu",
        },
        evaluation=evaluation,
        numerics=version(_parts(study, cell)),
    )


def _miner(study: Study, cell: Cell, chosen: Mapping[str, Any]) -> dict[str, Any] | None:
    if cell.miner is not None:
        return {"name": cell.miner.name, "settings": {**cell.miner.settings, **chosen}}
    if cell.positives is None:
        return None
    settings = {**study.miner.settings, **chosen}
    return {"positives": cell.positives, "negatives": cell.negatives, "settings": settings}


def _parts(study: Study, cell: Cell) -> tuple[str, ...]:
    """The modules of the parts that a trial of this cell runs, and dotted paths of other packages' classes."""
    training = study.training
    found = [
        ("losses", cell.loss.name),
        ("losses", _wrapped(cell)),
        ("miners.positives", cell.positives),
        ("miners.negatives", cell.negatives),
        ("miners", cell.miner.name if cell.miner else None),
        ("models", training.backbone),
        ("data.augment", training.augment),
        ("data.batches", training.batch.sampler),
        *(("evaluation.metrics", metric_part(metric)[0]) for metric in study.evaluation.metrics),
    ]
    names = [name if "." in name else f"dml.{room}.{name}" for room, name in found if name]
    return tuple(name for name in names if not name.startswith("dml.") or _exists(name))


def _wrapped(cell: Cell) -> str | None:
    """The loss within a loss such as `trimmed`."""
    inner = cell.loss.settings.get("loss")
    return inner.get("name") if isinstance(inner, Mapping) else inner


def _exists(module: str) -> bool:
    """Whether a part has a module of its own (the plain augmentation has none)."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def key(spec: TrialSpec) -> str:
    """The trial's key, 64 hexadecimal digits."""
    return digest({**asdict(spec), "dataset": {k: v for k, v in spec.dataset.items() if k != "name"}})


def digest(value: Any) -> str:
    """SHA-256 of a value's canonical JSON: keys sorted, and 1.0 the same as 1.

    Raises
    ------
    ValueError : the value holds something that JSON cannot say, NaN included.
    """
    try:
        text = json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False)
    except TypeError as error:
        raise ValueError(f"a trial's settings must be plain JSON values: {error}") from error
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
