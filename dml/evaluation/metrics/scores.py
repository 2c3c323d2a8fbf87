"""The scores: of each query, of all pairs, and of a clustering. Each class that states a version is a part."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import gammaln

from dml.evaluation.ranking import Hits


class Contingency(NamedTuple):
    """Classes against clusters, without the empty cells and the empty clusters."""

    counts: np.ndarray  # int64 (c,): samples in each cell
    rows: np.ndarray  # int64 (c,): the cell's class
    columns: np.ndarray  # int64 (c,): the cell's cluster
    classes: np.ndarray  # int64 (C,): samples in each class
    clusters: np.ndarray  # int64 (K,): samples in each cluster


def contingency(labels: np.ndarray, clusters: np.ndarray) -> Contingency:
    """Count the samples in each class and cluster, given as int64 (n,) each."""
    _, rows, classes = np.unique(labels, return_inverse=True, return_counts=True)
    _, columns, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    cells, counts = np.unique(rows.reshape(-1) * len(sizes) + columns.reshape(-1), return_counts=True)
    return Contingency(counts, cells // len(sizes), cells % len(sizes), classes, sizes)


def entropy(sizes: np.ndarray) -> float:
    """Entropy of a partition into parts of these sizes, in nats."""
    share = sizes / sizes.sum()
    return float(-(share * np.log(share)).sum())


def mutual_information(table: Contingency) -> float:
    """Mutual information of classes and clusters, in nats, at least 0."""
    n = table.counts.sum()
    ratio = np.log(table.counts) + np.log(n) - np.log(table.classes[table.rows]) - np.log(table.clusters[table.columns])
    return max(0.0, float((table.counts / n * ratio).sum()))


def mean_entropy(first: float, second: float, average: str) -> float:
    """The mean of two entropies, by which mutual information is normalised. Raises ValueError."""
    if average == "arithmetic":
        return (first + second) / 2
    if average == "geometric":
        return float(np.sqrt(first * second))
    raise ValueError(f"average: expected 'arithmetic' or 'geometric', got {average!r}")


class _AsManyAsClasses:
    """A score of a clustering into as many clusters as classes."""

    more_clusters: ClassVar[bool] = False

    def clusters(self, classes: int) -> int:
        """Clusters that k-means looks for."""
        return classes


class SharedInformation(_AsManyAsClasses, ABC):
    """A score by the mutual information of classes and clusters."""

    def __init__(self, average: str = "arithmetic") -> None:
        mean_entropy(1.0, 1.0, average)
        self.average = average

    def __call__(self, table: Contingency) -> float:
        """1 if classes and clusters are the same partition, else 0 if there is only one class or one cluster."""
        if len(table.counts) == len(table.classes) == len(table.clusters):
            return 1.0
        if 1 in (len(table.classes), len(table.clusters)):
            return 0.0
        return self._score(table, mean_entropy(entropy(table.classes), entropy(table.clusters), self.average))

    @abstractmethod
    def _score(self, table: Contingency, mean: float) -> float:
        """The score of two partitions with this mean entropy. Each has at least two parts."""


class _AtK:
    """A score of each query's k nearest."""

    def __init__(self, k: int) -> None:
        if k < 1:
            raise ValueError(f"{type(self).__name__.lower()}: k: expected at least 1, got {k}")
        self.k = k

    def depth(self, most: int) -> int:
        """Neighbours needed: k."""
        return self.k


class Recall(_AtK):
    """Recall@K as metric learning defines it: 1 if any of a query's K nearest has its class, else 0.

    It is neither precision@K nor the share of the relevant rows found (Jegou et al. 2011; Oh Song et al. 2016).
    """

    version: ClassVar[int] = 1

    def __call__(self, hits: Hits) -> np.ndarray:
        """Per query, float64 (b,)."""
        return hits.sum((hits.nth == 1) & (hits.rank <= self.k))


class Precision(_AtK):
    """Precision@K: the share of a query's K nearest that have its class, and of K even if the gallery is smaller."""

    version: ClassVar[int] = 1

    def __call__(self, hits: Hits) -> np.ndarray:
        """Per query, float64 (b,)."""
        return hits.sum(hits.rank <= self.k) / self.k


class Map:
    """Mean average precision over the whole ranking, as for re-identification (Zheng et al. 2015, Market-1501).

        AP = 1/R  sum over the R relevant rows of  nth / rank

    This is the area under the precision-recall steps. Market-1501's own script interpolates between the steps, which
    gives slightly lower values.
    """

    version: ClassVar[int] = 1

    def depth(self, most: int) -> None:
        """None: the whole ranking is needed."""

    def __call__(self, hits: Hits) -> np.ndarray:
        """Per query, float64 (b,)."""
        return hits.sum(hits.nth / hits.rank) / np.maximum(hits.positives, 1)


class MapAtR:
    """MAP@R (Musgrave et al. 2020, A Metric Learning Reality Check, section 3.2).

        1/R  sum over i = 1..R of  P(i) if the i-th nearest is relevant, else 0

    R is the number of rows relevant to the query, and P(i) the precision among its i nearest.
    """

    version: ClassVar[int] = 1

    def depth(self, most: int) -> int:
        """Neighbours needed: the largest R."""
        return most

    def __call__(self, hits: Hits) -> np.ndarray:
        """Per query, float64 (b,)."""
        within = hits.rank <= hits.positives[hits.row]
        return hits.sum(np.where(within, hits.nth / hits.rank, 0.0)) / np.maximum(hits.positives, 1)


class PairAuc:
    """The area under the ROC curve of telling pairs of one class from pairs of two classes by their distance.

    This is the probability that a random positive pair is nearer than a random negative pair; pairs in the same step
    of distance count half. One less it is the probability of reverse order, which the histogram loss estimates on a
    batch (Ustinova & Lempitsky 2016, equation 1) and by which their figure of similarity histograms is read.
    """

    version: ClassVar[int] = 1

    def of_pairs(self, positive: np.ndarray, negative: np.ndarray) -> float:
        """Numbers of pairs by distance, nearest first, int64 (bins,) -> AUC; NaN without pairs of both kinds."""
        pairs = float(positive.sum()) * float(negative.sum())
        farther = negative.sum() - negative.cumsum() + negative / 2
        return float(positive @ farther / pairs) if pairs else float("nan")


class Nmi(SharedInformation):
    """Normalised mutual information of the classes and as many k-means clusters.

        I(classes; clusters) / mean(H(classes), H(clusters))

    The mean is arithmetic (scikit-learn's default) or geometric (`I / sqrt(H H)`, the label-noise paper). With one
    class and one cluster NMI is 1, and with only one of either 0.
    """

    version: ClassVar[int] = 1

    def _score(self, table: Contingency, mean: float) -> float:
        return mutual_information(table) / mean


class NmiPlus:
    """NMI+: the NMI of a clustering into more clusters than classes (easy positive sampling, table 1).

    `over_clustering` is 10 for Cars and CUB, 30 for Omniglot's languages. Several modes of a class are not penalised.
    `over_clustering`: clusters for each class, at least 1. `average`: of the entropies, `arithmetic` or `geometric`.
    """

    version: ClassVar[int] = 1
    more_clusters: ClassVar[bool] = True

    def __init__(self, over_clustering: int = 10, average: str = "arithmetic") -> None:
        if over_clustering < 1:
            raise ValueError(f"over_clustering: expected at least 1, got {over_clustering}")
        self.over_clustering = over_clustering
        self._nmi = Nmi(average)

    def clusters(self, classes: int) -> int:
        return self.over_clustering * classes

    def __call__(self, table: Contingency) -> float:
        return self._nmi(table)


def expected_mutual_information(classes: np.ndarray, clusters: np.ndarray) -> float:
    """E[I] in nats for partitions into parts of these sizes, int64 (C,) and (K,)."""
    n = int(classes.sum())
    factorial = gammaln(np.arange(n + 2) + 1.0)  # factorial[i] = log(i!)
    sizes, times = np.unique(clusters, return_counts=True)
    total = 0.0
    for a, times_a in zip(*np.unique(classes, return_counts=True), strict=True):
        least = np.maximum(1, a + sizes - n)
        cells = np.minimum(a, sizes) - least + 1  # for each pair of sizes; at most n in all
        b = sizes.repeat(cells)
        cell = np.arange(cells.sum()) + (least - (cells.cumsum() - cells)).repeat(cells)
        log_probability = (
            factorial[a] + factorial[b] + factorial[n - a] + factorial[n - b] - factorial[n] - factorial[cell]
        ) - (factorial[a - cell] + factorial[b - cell] + factorial[n - a - b + cell])
        information = cell / n * (np.log(n) + np.log(cell) - np.log(a) - np.log(b))
        total += float(times_a * (times.repeat(cells) * information * np.exp(log_probability)).sum())
    return total


class Ami(SharedInformation):
    """Mutual information adjusted for chance (Vinh, Epps & Bailey 2010), of the classes and as many k-means clusters.

        (I - E[I]) / (mean(H(classes), H(clusters)) - E[I])

    E[I] is over random partitions with the same sizes (equation 24a). It depends only on the sizes, so each pair of
    distinct sizes is computed once, however many classes and clusters have them: 11,316 of both take seconds.
    """

    version: ClassVar[int] = 1

    def _score(self, table: Contingency, mean: float) -> float:
        expected = expected_mutual_information(table.classes, table.clusters)
        room = mean - expected
        least = float(np.finfo(np.float64).eps)
        return (mutual_information(table) - expected) / (min(room, -least) if room < 0 else max(room, least))


def _pairs(sizes: np.ndarray) -> int:
    return int((sizes * (sizes - 1) // 2).sum())


class F1(_AsManyAsClasses):
    """Pairwise F1 of the classes and as many k-means clusters.

        2 TP / (pairs in clusters + pairs in classes)

    A pair of samples is predicted positive if it is in one cluster, and is positive if it is of one class.
    """

    version: ClassVar[int] = 1

    def __call__(self, table: Contingency) -> float:
        """In 0..1; 1 if neither partition has a pair."""
        both = _pairs(table.classes) + _pairs(table.clusters)
        return 2 * _pairs(table.counts) / both if both else 1.0
