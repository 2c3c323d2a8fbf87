"""A `TrialSpec` as JSON. A worker reads one, so importing this imports neither torch nor `dml.config`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from dml.types import (
    BatchSpec,
    DatasetSpec,
    EvaluationSpec,
    FilterSpec,
    InitFromSpec,
    LossSpec,
    MinerSpec,
    NoiseSpec,
    TrainingSpec,
    TrialSpec,
)


def plain(spec: TrialSpec) -> dict[str, Any]:
    """A spec as plain values. What a trial starts from is `start` there, as in the first specs."""
    from dml.config.errors import FIRST

    content, names = asdict(spec), FIRST["training"]
    content["training"] = {names.get(name, name): value for name, value in content["training"].items()}
    return content


def dump(spec: TrialSpec) -> str:
    """A spec as JSON."""
    return json.dumps(plain(spec))


def load(text: str) -> TrialSpec:
    """The spec that `dump` wrote."""
    content = json.loads(text)
    training = _tupled(content["training"])
    start = training.pop("start")
    training["init_from"] = None if start is None else InitFromSpec(**start)
    return TrialSpec(
        phase=content["phase"],
        seed=content["seed"],
        dataset=DatasetSpec(**_tupled(content["dataset"])),
        noise=NoiseSpec(**content["noise"]),
        loss=LossSpec(**content["loss"]),
        miner=None if content["miner"] is None else MinerSpec(**content["miner"]),
        training=TrainingSpec(**{**training, "batch": BatchSpec(**training["batch"])}),
        evaluation=EvaluationSpec(**_tupled(content["evaluation"])),
        protocol=content["protocol"],
        filter=None if content["filter"] is None else FilterSpec(**content["filter"]),
    )


def _tupled(section: Mapping[str, Any]) -> dict[str, Any]:
    """JSON's lists as the tuples that the records contain."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in section.items()}
