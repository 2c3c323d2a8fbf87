"""Scores of embeddings against clean labels: retrieval and clustering, at any size.

    scores = evaluate(embeddings, labels, metrics=["recall@1", "map@r", "nmi", "nmi+", "f1"])

Neighbours are computed once for all metrics and label levels, block by block; k-means once for each number of clusters.
"""

from __future__ import annotations

from dml.evaluation._evaluate import Scores, evaluate, per_class
from dml.evaluation._vectors import Vectors
from dml.evaluation.embed import Embedder, embed
from dml.statistics import Comparison, Summary, compare, holm, summary

__all__ = [
    "Comparison",
    "Embedder",
    "Scores",
    "Summary",
    "Vectors",
    "compare",
    "embed",
    "evaluate",
    "holm",
    "per_class",
    "summary",
]
