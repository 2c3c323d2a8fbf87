"""Metrics, one per file. A metric's name in a study is its file's name in the field's spelling: `map@r` is `map_at_r`.

`dml.protocols` describes the three kinds: a `RetrievalMetric` turns the `Hits` of b queries into b values,
a `ClusteringMetric` turns a `Contingency` into one, and a `PairMetric` the distances of all pairs.
"""

from __future__ import annotations

from dml import discovery
from dml.evaluation.metrics._names import build

__all__ = ["build"]

__getattr__, __dir__ = discovery.lazy(__name__)
