"""Runs in MLflow: a picture of results, which a sync draws again and again until it is complete."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

for _name, _value in {  # MLflow reads these when it is imported
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",  # the next sync tries again
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
}.items():
    os.environ.setdefault(_name, _value)


FINISHED, RUNNING, FAILED, KILLED = "FINISHED", "RUNNING", "FAILED", "KILLED"
KEYS = {  # the tags by which a run of each kind is found in its study
    "study": (),
    "cell": ("dml.cell",),
    "trial": ("dml.trial", "dml.key"),
    "champion": ("dml.identity",),
    "audit": ("dml.audit", "dml.settings"),
}
VALUE_LENGTH = 500  # characters; every MLflow version accepts parameter values of this length


@dataclass(frozen=True)
class Model:
    """A trained model that a run should have."""

    folder: Path
    key: str  # another key is another model
    image_shape: Sequence[int]  # (H, W, C), or (C,) for vectors
    embedding_size: int
    name: str = "best"
    register: str | None = None  # as the next version of a registered model
    alias: str | None = None  # of that version
    loader: str = "dml.training.model_files.TrainedEmbedder"  # dotted path; `loader(folder)` embeds images


@dataclass(frozen=True)
class Run:
    """A run. `tags` has at least those of `KEYS` for its kind."""

    kind: str
    name: str
    parent: Run | None = None
    status: str = FINISHED
    start: float = 0.0  # seconds since the epoch
    seconds: float = 0.0
    tags: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)  # may be nested
    metrics: Mapping[str, float] = field(default_factory=dict)
    curve: Sequence[tuple[int, Mapping[str, float]]] = ()  # (step, scores)
    files: Mapping[str, Path] = field(default_factory=dict)  # by their path among the artifacts
    model: Model | None = None

    @property
    def key(self) -> tuple[str, ...]:
        """What finds the run in its study."""
        return key_of(self.kind, self.tags)


@dataclass(frozen=True)
class Picture:
    """All runs of a study, each after its parent."""

    study: str
    runs: Sequence[Run]


def key_of(kind: str, tags: Mapping[str, str]) -> tuple[str, ...]:
    """What finds a run with these tags in its study."""
    return (kind, *(tags.get(name, "") for name in KEYS.get(kind, ())))


def metric_name(name: str) -> str:
    """A name that MLflow accepts: `test/fine/recall@1` -> `test/fine/recall_at_1`; `nmi+` -> `nmi_plus`."""
    return re.sub(r"[^\w\-. :/]", "_", name.replace("@", "_at_").replace("+", "_plus"))


def parameters(settings: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested settings as MLflow parameters: `{"loss": {"margin": 1}}` -> `{"loss.margin": "1"}`. Skips None."""
    flat: dict[str, str] = {}
    for key, value in settings.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            flat |= parameters(value, f"{name}.")
        elif value is not None:
            flat[metric_name(name)] = str(value)[:VALUE_LENGTH]
    return flat
