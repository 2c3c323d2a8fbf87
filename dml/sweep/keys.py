"""A trial's key: the digest of what decides its result.

That is the spec without the settings that have their default value, the versions of the parts that the trial runs,
torch's version, and the versions of packages that provide initial weights. Tidying the code, or adding a setting with
a default, changes no key. A changed number or default needs a raised version of its part (`tests/golden` enforces it),
and changes the keys of the trials that run that part.

A dataset's name in the study is not included; the digests of its images, split and labels are. So two studies share
equal trials.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

import torch

from dml import discovery, evaluation, miners, models
from dml.protocols import ClusteringMetric, Composite
from dml.training.loop import Training
from dml.types import BatchSpec, EvaluationSpec, MinerSpec, TrainingSpec, TrialSpec

FROM_TRIAL = ("margin", "distance", "normalize", "padded", "max_per_class")
"""Miner settings whose default is not the miner's own: a trial takes them from its loss, training or batches."""


def key(spec: TrialSpec) -> str:
    """The trial's key, 64 hexadecimal digits."""
    return digest(record(spec))


def record(spec: TrialSpec) -> dict[str, Any]:
    """What the key is the digest of, as plain JSON values: `{"spec": ..., "versions": ...}`."""
    return {"spec": _without_defaults(spec), "versions": versions(spec)}


def versions(spec: TrialSpec) -> dict[str, int | str]:
    """The versions of everything that the trial runs, by name."""
    found: dict[str, int | str] = {"torch": torch.__version__.split("+")[0], "training": Training.version}
    for package, name in _parts(spec):
        found[_label(package, name)] = discovery.version_of(package, name)
    if spec.miner is not None and not spec.miner.name:
        found["miners.mine"] = miners.PolicyMiner.version
    for package in models.find(spec.training.backbone).packages:
        found[package] = discovery.package_version(package)
    if any(map(_is_of_clusters, spec.evaluation.metrics)):
        found["k-means"] = "faiss" if _has_faiss() else "torch"
    return dict(sorted(found.items()))


def digest(value: Any) -> str:
    """SHA-256 of a value's canonical JSON: sorted keys, and 1.0 the same as 1.

    Raises
    ------
    ValueError : the value contains something that JSON cannot express, such as NaN.
    """
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def canonical(value: Any) -> str:
    """Canonical JSON. Raises as `digest` does."""
    try:
        return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False)
    except TypeError as error:
        raise ValueError(f"a trial's settings must be plain JSON values: {error}") from error


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _parts(spec: TrialSpec) -> Iterator[tuple[str, str]]:
    """The parts that a trial runs, as (package, name), those inside composite parts included."""
    ahead: list[tuple[str, str, Mapping[str, Any]]] = [
        ("dml.losses", spec.loss.name, spec.loss.settings),
        ("dml.models", spec.training.backbone, spec.training.backbone_settings),
        ("dml.data.augment", spec.training.augment, spec.training.augment_settings),
        ("dml.data.batches", spec.training.batch.sampler, {}),
    ]
    ahead += [("dml.evaluation.metrics", evaluation.metric_part(metric)[0], {}) for metric in spec.evaluation.metrics]
    if spec.miner is not None and spec.miner.name:
        ahead.append(("dml.miners", spec.miner.name, spec.miner.settings))
    elif spec.miner is not None:
        ahead.append(("dml.miners.positives", spec.miner.positives, spec.miner.settings))
        ahead.append(("dml.miners.negatives", spec.miner.negatives, spec.miner.settings))
    while ahead:
        package, name, settings = ahead.pop()
        yield package, name
        part = discovery.find(package, name)
        if issubclass(part, Composite):
            ahead += [(*component, {}) for component in part.components(settings)]


def _label(package: str, name: str) -> str:
    return name if discovery.is_foreign(name) else f"{package.removeprefix('dml.')}.{name}"


def _without_defaults(spec: TrialSpec) -> dict[str, Any]:
    content, training = asdict(spec), spec.training
    del content["dataset"]["name"]
    changed = _changed(content["training"], asdict(TrainingSpec()))
    if "batch" in changed:
        changed["batch"] = _changed(changed["batch"], asdict(BatchSpec()))
    changed["backbone_settings"] = _of_part("dml.models", training.backbone, training.backbone_settings)
    changed["augment_settings"] = _of_part("dml.data.augment", training.augment, training.augment_settings)
    return {
        **content,
        "loss": {"name": spec.loss.name, "settings": _of_part("dml.losses", spec.loss.name, spec.loss.settings)},
        "miner": None if spec.miner is None else _miner(spec.miner),
        "training": changed,
        "evaluation": _changed(content["evaluation"], asdict(EvaluationSpec())),
    }


def _miner(miner: MinerSpec) -> dict[str, Any]:
    if miner.name:
        return {"name": miner.name, "settings": _of_part("dml.miners", miner.name, miner.settings)}
    defaults = miners.defaults(miner.positives, miner.negatives)
    taken = {name: value for name, value in miner.settings.items() if name in defaults}  # others have no effect
    constant = {name: value for name, value in defaults.items() if name not in FROM_TRIAL}
    return {"positives": miner.positives, "negatives": miner.negatives, "settings": _changed(taken, constant)}


def _of_part(package: str, name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    return _changed(settings, discovery.defaults_of(discovery.find(package, name)))


def _changed(settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that differ from their defaults."""
    return {k: v for k, v in settings.items() if k not in defaults or _plain(v) != _plain(defaults[k])}


@cache
def _is_of_clusters(metric: str) -> bool:
    name, settings = evaluation.metric_part(metric)
    return isinstance(discovery.build("dml.evaluation.metrics", name, **settings), ClusteringMetric)


@cache
def _has_faiss() -> bool:
    return importlib.util.find_spec("faiss") is not None
