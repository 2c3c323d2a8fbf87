"""Embeddings moved towards their neighbours: free, but it needs the whole gallery, and changes with it.

Database augmentation (Turcot and Lowe 2009; weights of Arandjelovic and Zisserman 2012) with the weights of alpha query
expansion (Radenovic et al. 2019, Fine-tuning CNN image retrieval with no human annotation, sec. 3.2):

    y_i  =  unit( x_i + sum_{j in the k nearest of i} max(0, x_i . x_j)^alpha x_j )

Every image of a set is a query and in the gallery here, so both are the same step.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from dml.evaluation import _search


def augmented(embeddings: Tensor | np.ndarray, neighbors: int = 5, alpha: float = 3.0) -> Tensor:
    """Embeddings float (n, D) -> unit vectors float32 (n, D), each moved towards its nearest neighbours.

    Parameters
    ----------
    neighbors : k; at most n - 1 are used.
    alpha : of the weights; 0: all neighbours count as much as the embedding itself.

    Raises
    ------
    ValueError : fewer than one neighbour, or a negative alpha.
    """
    if neighbors < 1 or alpha < 0:
        raise ValueError(f"expected neighbors >= 1 and alpha >= 0, got {neighbors} and {alpha}")
    given = torch.as_tensor(embeddings).float()
    x = functional.normalize(given, dim=1)
    count = min(neighbors, len(x) - 1)
    if count < 1:
        return x
    nearest = _search.search(x, x.square().sum(1), _search.choose("auto", x.device, count + 1), unit=True)
    found = nearest(x, count + 1)[1]
    is_own = found == torch.arange(len(x), device=x.device)[:, None]
    near = x[found.gather(1, is_own.int().argsort(dim=1, stable=True)[:, :count])]
    weights = (near @ x[:, :, None])[..., 0].clamp(min=0) ** alpha
    return functional.normalize(x + (weights[..., None] * near).sum(dim=1), dim=1)
