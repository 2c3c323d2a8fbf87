"""Metrics, one per file. A metric's name in a study is its file's name in the field's spelling: `map@r` is `map_at_r`.

`dml.protocols` describes the three kinds: a `RetrievalMetric` turns the `Hits` of b queries into b values,
a `ClusteringMetric` turns a `Contingency` into one, and a `PairMetric` the distances of all pairs.
"""

from __future__ import annotations

from typing import Any

from dml import discovery
from dml.protocols import ClusteringMetric, PairMetric, RetrievalMetric

PACKAGE = "dml.evaluation.metrics"


def metric_part(name: str) -> tuple[str, dict[str, int]]:
    """The part and the settings that a metric's name denotes: `recall@5` -> `("recall", {"k": 5})`.

    `map@r` is the part `map_at_r`, `nmi+` the part `nmi_plus`. Does not check that the part exists.
    """
    stem, at, argument = name.replace("+", "_plus").partition("@")
    if not at:
        return stem, {}
    return (stem, {"k": int(argument)}) if argument.isdecimal() else (f"{stem}_at_{argument}", {})


def metric_names() -> tuple[str, ...]:
    """The names of all metrics, as a study writes them. `recall@K` means `recall@1`, `recall@2`, ..."""
    return tuple(_spelling(part) for part in discovery.names(PACKAGE))


def check_metric(name: str) -> None:
    """Raise a ValueError that lists the metrics unless `name` is one of them."""
    part, settings = metric_part(name)
    exists = part in discovery.names(PACKAGE)  # without importing the others
    if not exists or _takes_k(part) != bool(settings) or settings.get("k", 1) < 1:
        raise ValueError(f"unknown metric {name!r}{discovery.suggestion(name, metric_names())}")


def _spelling(part: str) -> str:
    spelt = part.replace("_plus", "+").replace("_at_", "@")
    return f"{spelt}@K" if _takes_k(part) else spelt


def _takes_k(part: str) -> bool:
    return "k" in discovery.settings_of(discovery.find(PACKAGE, part))


def build(name: str, /, **settings: Any) -> RetrievalMetric | ClusteringMetric | PairMetric:
    """A metric by its name in a study: `build("recall@5")`, `build("nmi", average="geometric")`.

    Raises ValueError: an unknown name or setting, or an invalid value.
    """
    check_metric(name)
    part, given = metric_part(name)
    return discovery.build(PACKAGE, part, **given, **settings)


__all__ = ["build", "check_metric", "metric_names", "metric_part"]

__getattr__, __dir__ = discovery.lazy(__name__)
