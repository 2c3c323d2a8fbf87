"""A trial's key: the digest of what decides its result.

That is the spec without settings that have their default, and the versions of parts, of torch and of packages with
weights. Digests stand for datasets, so studies share equal trials. A changed number or default needs a raised version.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

import torch

from dml import discovery, evaluation, losses, miners, models
from dml.protocols import ClusteringMetric, Composite
from dml.training import closed_form, collectives, free, optimizers
from dml.training.frozen import recipe
from dml.training.loop import Training
from dml.types import BatchSpec, EvaluationSpec, MinerSpec, TrainingSpec, TrialSpec, noise_model

FROM_TRIAL = {
    "dml.losses": ("num_classes", "embedding_size", "normalize"),
    "dml.filters": ("num_classes", "embedding_size"),
    "dml.models": ("channels", "image_size"),
    "dml.data.augment": ("channels", "normalization"),
    "dml.miners": ("margin", "distance", "normalize", "padded", "max_per_class"),
}
"""Settings that a trial fills in from its data, network, loss or batches. The part's own default never applies: a study
that writes it replaces what the trial would have filled in.
"""


def key(spec: TrialSpec) -> str:
    """The trial's key, 64 hexadecimal digits."""
    return digest(record(spec))


def record(spec: TrialSpec) -> dict[str, Any]:
    """What the key is the digest of, as plain JSON values: `{"spec": ..., "versions": ...}`."""
    return {"spec": _without_defaults(spec), "versions": versions(spec)}


def versions(spec: TrialSpec) -> dict[str, int | str]:
    """The versions of everything that the trial runs, by name."""
    training = spec.training
    by_name: dict[str, int | str] = {"torch": torch.__version__.split("+")[0], "training": Training.version}
    by_name |= {_label(package, name): discovery.version_of(package, name) for package, name in _parts(spec)}
    packages = models.packages_of(training.backbone, training.backbone_settings)
    by_name |= {package: discovery.package_version(package) for package in packages}
    starts_closed = training.head_start != TrainingSpec.head_start or training.head_refit is not None
    noisy = spec.noise.rate > 0 and noise_model(spec.noise.model) != "given"
    optional = (
        ("validation.given", 1, spec.phase == "tune" and noisy and "given" in spec.dataset.evaluate_on),
        ("miners.mine", miners.PolicyMiner.version, spec.miner is not None and not spec.miner.name),
        ("losses.memory_triples", 1, spec.loss.name == "triplet" and spec.loss.settings.get("memory") is not None),
        ("losses.memory", losses.Memory.version, spec.loss.settings.get("memory") is not None),
        ("training.frozen", recipe.version, training.stored),
        ("training.workers", collectives.version, training.workers > 1),
        ("training.decay", optimizers.version, training.weight_decay),
        ("training.layers", optimizers.layers_version, training.layer_decay),
        ("training.closed_form", closed_form.version, starts_closed),
        ("training.free", free.version, training.head_start == free.KIND),
        ("k-means", _k_means(), any(map(_is_of_clusters, spec.evaluation.metrics))),
    )
    by_name |= {name: version for name, version, is_run in optional if is_run}
    return dict(sorted(by_name.items()))


def digest(value: Any) -> str:
    """SHA-256 of a value's canonical JSON: sorted keys, and 1.0 the same as 1."""
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
    training, miner = spec.training, spec.miner
    yield from _tree("dml.losses", spec.loss.name, spec.loss.settings)
    if spec.filter is not None:
        yield from _tree("dml.filters", spec.filter.name, spec.filter.settings)
    yield from _tree("dml.models", training.backbone, training.backbone_settings)
    yield from _tree("dml.data.augment", training.augment, training.augment_settings)
    yield from _tree("dml.data.batches", training.batch.sampler, {})
    for metric in spec.evaluation.metrics:
        yield from _tree("dml.evaluation.metrics", evaluation.metric_part(metric)[0], {})
    if miner is not None and miner.name:
        yield from _tree("dml.miners", miner.name, miner.settings)
    elif miner is not None:
        yield from _tree("dml.miners.positives", miner.positives, miner.settings)
        yield from _tree("dml.miners.negatives", miner.negatives, miner.settings)


def _tree(package: str, name: str, settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """A part, and the parts that it runs with these settings, as (package, name)."""
    yield package, name
    for component in _components(discovery.find(package, name), settings).values():
        yield from _tree(*component)


def _components(part: type, settings: Mapping[str, Any]) -> Mapping[str, tuple[str, str, Mapping[str, Any]]]:
    return part.components(settings) if issubclass(part, Composite) else {}


def _label(package: str, name: str) -> str:
    return name if discovery.is_foreign(name) else f"{package.removeprefix('dml.')}.{name}"


def _without_defaults(spec: TrialSpec) -> dict[str, Any]:
    content, training = asdict(spec), spec.training
    del content["dataset"]["name"]
    if spec.protocol == TrialSpec.protocol:
        del content["protocol"]
    if spec.filter is None:
        del content["filter"]
    else:
        content["filter"]["settings"] = _of_part("dml.filters", spec.filter.name, spec.filter.settings)
    changed = _changed(content["training"], asdict(TrainingSpec()))
    if "init_from" in changed:
        changed["start"] = {name: value for name, value in changed.pop("init_from").items() if name != "path"}
    if "batch" in changed:
        changed["batch"] = _changed(changed["batch"], asdict(BatchSpec()))
    backbone = models.by_content(training.backbone, training.backbone_settings)  # wherever the files are
    changed["backbone_settings"] = _of_part("dml.models", training.backbone, backbone)
    changed["augment_settings"] = _of_part("dml.data.augment", training.augment, training.augment_settings)
    loss, noise = spec.loss, spec.noise
    of_loss = dict(loss.settings)
    if of_loss.get("memory") is not None:
        of_loss["memory"] = _changed(of_loss["memory"], discovery.defaults_of(losses.Memory))
    model = noise_model(noise.model)
    filled_in = {"normalize": training.normalize, "embedding_size": training.embedding_size}
    return {
        **content,
        "noise": {**content["noise"], "model": model, "settings": _of_part("dml.noise", model, noise.settings)},
        "loss": {"name": loss.name, "settings": _of_part("dml.losses", loss.name, of_loss, filled_in)},
        "miner": None if spec.miner is None else _miner(spec.miner),
        "training": changed,
        "evaluation": _changed(content["evaluation"], asdict(EvaluationSpec())),
    }


def _miner(miner: MinerSpec) -> dict[str, Any]:
    if miner.name:
        return {"name": miner.name, "settings": _of_part("dml.miners", miner.name, miner.settings)}
    policies = {"positives": miner.positives, "negatives": miner.negatives}
    settings: dict[str, Any] = {}
    for part in (miners.PolicyMiner, *(discovery.find(f"dml.miners.{axis}", name) for axis, name in policies.items())):
        settings |= _changed(discovery.accepted(part, miner.settings), _defaults("dml.miners", part))
    return {**policies, "settings": settings}  # settings that none of them takes have no effect


def _of_part(
    package: str, name: str, settings: Mapping[str, Any], filled_in: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The settings that change what a part computes. `filled_in`: what a trial fills in, where that is known."""
    part = discovery.find(package, name)
    given, defaults = dict(settings), {**_defaults(package, part), **discovery.accepted(part, filled_in or {})}
    defaults |= {key: _spelt(*component) for key, component in _components(part, {}).items()}
    given |= {key: _spelt(*component) for key, component in _components(part, settings).items() if key in given}
    return _changed(given, defaults)


def _spelt(package: str, name: str, settings: Mapping[str, Any]) -> Any:
    """A part inside another one in one spelling, of the many that a study may use."""
    changed = _of_part(package, name, settings)
    return {"name": name, "settings": changed} if changed else name


def _defaults(package: str, part: type) -> dict[str, Any]:
    """The defaults that apply if a study leaves a setting out."""
    filled_in = FROM_TRIAL.get(package, ())
    return {name: value for name, value in discovery.defaults_of(part).items() if name not in filled_in}


def _changed(settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that differ from their defaults."""
    return {k: v for k, v in settings.items() if k not in defaults or _plain(v) != _plain(defaults[k])}


@cache
def _is_of_clusters(metric: str) -> bool:
    name, settings = evaluation.metric_part(metric)
    return isinstance(discovery.build("dml.evaluation.metrics", name, **settings), ClusteringMetric)


@cache
def _k_means() -> str:
    return "faiss" if discovery.installed("faiss") else "torch"
