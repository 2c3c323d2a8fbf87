"""The neighbours' vote on given labels, and near-duplicates whose labels contradict each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from dml.evaluation import _search

CHUNK = 1 << 21  # numbers in one temporary array


class Nearest(NamedTuple):
    """Of a block of rows, the nearest ones, the nearest first."""

    queries: Tensor  # int64 (b,)
    rows: Tensor  # int64 (b, k), rows. Most queries find themselves first
    cosine: Tensor  # float32 (b, k)


def nearest(vectors: Tensor, rows: Tensor, k: int, queries: Tensor | None = None) -> Iterator[Nearest]:
    """The k nearest of some rows among these rows, block by block. Near ties are in the order of float32 rounding.

    Parameters
    ----------
    vectors : float32 (n, D). A zero vector has the cosine 0 to all.
    rows : int64 (m,), ascending; m is at least k.
    queries : int64 (q,), the rows whose nearest are searched; None: all of `rows`.
    """
    step = min(len(rows), max(1, CHUNK // max(vectors.shape[1], k)))
    space, tiles = vectors.new_empty(step, vectors.shape[1]), vectors.new_empty(step, vectors.shape[1])
    for part in (rows if queries is None else queries).split(step):
        block = unit(vectors, part, space)
        best = torch.empty(len(block), 0), torch.empty(len(block), 0, dtype=torch.int64)
        squares = block.square().sum(1, keepdim=True)
        for start in range(0, len(rows), step):
            tile = unit(vectors, rows[start : start + step], tiles)
            most = min(k, len(tile))
            backend = _search.choose("auto", tile.device, most)
            distance, place = _search.search(tile, tile.new_ones(len(tile)), backend, unit=True)(block, most)
            cosine = torch.cat([best[0], (squares + 1 - distance) / 2], 1)
            order = cosine.sort(dim=1, descending=True, stable=True).indices[:, :k]
            best = cosine.gather(1, order), torch.cat([best[1], place + start], 1).gather(1, order)
        yield Nearest(part, rows[best[1]], best[0])


def unit(vectors: Tensor, rows: Tensor, space: Tensor) -> Tensor:
    """Some rows (b,), divided by their length, in `space` (at least b, D): fresh arrays would fragment the heap."""
    part = torch.index_select(vectors, 0, rows, out=space[: len(rows)])
    return part.div_(torch.linalg.vector_norm(part, dim=1, keepdim=True).clamp(min=1e-30))


class Vote(NamedTuple):
    """What the nearest images say. Images that are not judged have no neighbours and are nobody's neighbour."""

    agreeing: np.ndarray  # float64 (n,): the weights of those neighbours that have the image's given label,
    weight: np.ndarray  # float64 (n,): and of all its neighbours
    pairs: np.ndarray  # int64 (p, 2): pairs of images, ascending, that are as similar as `duplicates` or more
    similarity: np.ndarray  # float64 (p,): their cosines


def vote(
    vectors: Tensor, codes: np.ndarray, trust: np.ndarray, k: int, duplicates: float, queries: np.ndarray | None = None
) -> Vote:
    """The vote of the k nearest images by cosine on every judged image, itself left out.

    Parameters
    ----------
    vectors : float32 (n, D).
    codes : int64 (n,), the given class; -1: not judged.
    trust : float (n,), the weight of each image's vote.
    duplicates : the cosine from which two images are near-duplicates. They must be among each other's k nearest, or
        have equal vectors.
    queries : int64 (q,), ascending, the judged images whose neighbours are searched; None: all. Others get no votes.
    """
    rows = torch.from_numpy(np.flatnonzero(codes >= 0))
    searched = None if queries is None else torch.from_numpy(queries)
    agreeing, weight = np.zeros(len(codes)), np.zeros(len(codes))
    pairs, similarities = [], []
    given, trusted = torch.from_numpy(codes), torch.from_numpy(np.asarray(trust, dtype=np.float64))
    for images, near, cosine in nearest(vectors, rows, min(k + 1, len(rows)), searched):
        inside = near != images[:, None]
        inside &= inside.cumsum(1) <= k  # without itself among them (equal vectors) there is one too many
        votes = trusted[near] * inside
        agreeing[images] = (votes * (given[near] == given[images, None])).sum(1).numpy()
        weight[images] = votes.sum(1).numpy()
        row, place = ((cosine >= duplicates) & inside).nonzero(as_tuple=True)
        first, second = images[row], near[row, place]
        pairs.append(torch.stack([torch.minimum(first, second), torch.maximum(first, second)], 1).numpy())
        similarities.append(cosine[row, place].double().clamp(max=1.0).numpy())
    equal = _equal(vectors)
    both = pd.DataFrame(np.concatenate([*pairs, equal]), columns=["first", "second"])
    both["similarity"] = np.concatenate([*similarities, np.ones(len(equal))])
    most = both.groupby(["first", "second"])["similarity"].max().reset_index()
    return Vote(agreeing, weight, most[["first", "second"]].to_numpy(), most["similarity"].to_numpy())


def vote_by_fold(
    vectors: Sequence[Tensor],
    folds: np.ndarray,
    fixed: Tensor | None,
    codes: np.ndarray,
    trust: np.ndarray,
    k: int,
    duplicates: float,
) -> Vote:
    """As `vote`, but the neighbours of each image are those in the vectors of its fold."""
    agreeing, weight = np.zeros(len(codes)), np.zeros(len(codes))
    for fold, space in enumerate(vectors):
        rows = np.flatnonzero(folds == fold)
        part = vote(space, codes, trust, k, duplicates, rows)
        agreeing[rows], weight[rows] = part.agreeing[rows], part.weight[rows]
    if fixed is None:
        return Vote(agreeing, weight, np.zeros((0, 2), dtype=np.int64), np.zeros(0))
    return Vote(agreeing, weight, *vote(fixed, codes, trust, k, duplicates)[2:])


def contradictions(vote: Vote, labels: np.ndarray) -> pd.DataFrame:
    """The pairs of near-duplicates with different labels (n,), the most similar first."""
    first, second = vote.pairs.T
    values = {"first": first, "second": second, "similarity": vote.similarity}
    table = pd.DataFrame({**values, "given_first": labels[first], "given_second": labels[second]})
    table = table[labels[first] != labels[second]]
    return table.sort_values("similarity", ascending=False, kind="stable").reset_index(drop=True)


def _equal(vectors: Tensor) -> np.ndarray:
    """Pairs of images with equal vectors, int64 (p, 2): each with the next one in its group."""
    array = np.ascontiguousarray(vectors.numpy())
    keys = array.view(np.dtype((np.void, array.dtype.itemsize * array.shape[1]))).reshape(-1)
    order = np.argsort(keys, kind="stable")
    same = keys[order[1:]] == keys[order[:-1]]
    return np.stack([order[:-1][same], order[1:][same]], 1)
