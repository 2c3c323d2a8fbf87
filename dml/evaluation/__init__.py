"""Scores of embeddings against clean labels: retrieval and clustering, at any size.

    scores = evaluate(embeddings, labels, metrics=["recall@1", "map@r", "nmi", "nmi+", "f1"])

Neighbours are computed once for all metrics and label levels, block by block; k-means once for each number of clusters.
"""

from __future__ import annotations

from dml.evaluation import metrics
from dml.evaluation._evaluate import Scores, evaluate, metric_of, per_class
from dml.evaluation._search import augmented
from dml.evaluation._vectors import Vectors
from dml.evaluation.embed import embed, embed_images, joined, of_views
from dml.evaluation.metrics import check_metric, metric_names, metric_part

__all__ = [
    "Scores",
    "Vectors",
    "augmented",
    "check_metric",
    "embed",
    "embed_images",
    "evaluate",
    "joined",
    "metric_names",
    "metric_of",
    "metric_part",
    "metrics",
    "of_views",
    "per_class",
]
