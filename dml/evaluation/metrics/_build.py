"""Metrics by name."""

from __future__ import annotations

from typing import Any

from dml import discovery
from dml.evaluation.metrics._names import PACKAGE, check_metric, metric_part
from dml.protocols import ClusteringMetric, PairMetric, RetrievalMetric


def build(name: str, /, **settings: Any) -> RetrievalMetric | ClusteringMetric | PairMetric:
    """A metric by its name in a study: `build("recall@5")`, `build("nmi", average="geometric")`.

    Raises
    ------
    ValueError : an unknown name or setting, or an invalid value.
    """
    check_metric(name)
    part, given = metric_part(name)
    return discovery.build(PACKAGE, part, **given, **settings)
