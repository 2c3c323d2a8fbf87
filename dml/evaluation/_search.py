"""The k nearest by float32 arithmetic, by faiss or torch, without an N x N matrix; embeddings moved towards them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from dml.discovery import installed

# queries (b, D), k -> squared distances, ascending, and indices into the gallery: (b, k) each
Search = Callable[[Tensor, int], tuple[Tensor, Tensor]]

BACKENDS = ("auto", "faiss", "torch")
FAISS_GPU_MOST = 2048  # neighbours; faiss finds no more on a GPU
FAISS_CPU_MOST = 1024  # neighbours; for more, its heaps are slower than sorting a tile


def has_faiss() -> bool:
    """Whether faiss is installed."""
    return installed("faiss")


def choose(backend: str, device: torch.device, k: int = 1) -> str:
    """The backend to use: for `auto` faiss on a CPU if it is installed and `k` is not too large, else torch."""
    if backend not in BACKENDS:
        raise ValueError(f"backend: expected one of {', '.join(BACKENDS)}, got {backend!r}")
    if backend == "faiss" and not has_faiss():
        raise ValueError("backend: 'faiss' is not installed (pip install faiss-cpu). Choices: auto, torch")
    if backend == "auto":
        return "faiss" if device.type == "cpu" and has_faiss() and k <= FAISS_CPU_MOST else "torch"
    return backend


def search(gallery: Tensor, squares: Tensor, backend: str, unit: bool = False) -> Search:
    """A search over `gallery`, float32 (m, D), whose squared norms are `squares` (m,). Nothing is copied."""
    return _faiss(gallery, unit) if backend == "faiss" else _torch(gallery, squares)


def _faiss(gallery: Tensor, unit: bool) -> Search:
    import faiss

    metric = faiss.METRIC_INNER_PRODUCT if unit else faiss.METRIC_L2
    on_gpu, base = gallery.device.type == "cuda" and hasattr(faiss, "StandardGpuResources"), gallery.cpu().numpy()
    resources = faiss.StandardGpuResources() if on_gpu else None

    def nearest(queries: Tensor, k: int) -> tuple[Tensor, Tensor]:
        rows = queries.cpu().numpy()
        if resources is not None and k <= FAISS_GPU_MOST:
            distances, indices = faiss.knn_gpu(resources, rows, base, k, metric=metric)
        else:
            distances, indices = faiss.knn(rows, base, k, metric=metric)
        if unit:
            distances = np.square(rows).sum(1, keepdims=True) + 1 - 2 * distances
        return torch.from_numpy(distances).to(gallery.device), torch.from_numpy(indices).to(gallery.device)

    return nearest


def _torch(gallery: Tensor, squares: Tensor, tile: int = 1 << 15) -> Search:
    def nearest(queries: Tensor, k: int) -> tuple[Tensor, Tensor]:
        norms = queries.square().sum(1, keepdim=True)
        best: tuple[Tensor, Tensor] | None = None
        for start in range(0, len(gallery), tile):
            part = gallery[start : start + tile]
            distances = torch.addmm(norms + squares[start : start + tile], queries, part.T, alpha=-2.0)
            values, indices = distances.topk(min(k, len(part)), largest=False)
            indices += start
            if best is not None:
                values, indices = torch.cat([best[0], values], 1), torch.cat([best[1], indices], 1)
                values, columns = values.topk(min(k, values.shape[1]), largest=False)
                indices = indices.gather(1, columns)
            best = values, indices
        assert best is not None
        return best

    return nearest


def augmented(embeddings: Tensor | np.ndarray, neighbors: int = 5, alpha: float = 3.0) -> Tensor:
    """Embeddings float (n, D) -> unit vectors float32 (n, D), each moved towards its nearest neighbours.

    `neighbors`: k; at most n - 1 are used. `alpha`: of the weights; 0: all neighbours count as much as the embedding
    itself. Raises ValueError: fewer than one neighbour, or a negative alpha.
    """
    if neighbors < 1 or alpha < 0:
        raise ValueError(f"expected neighbors >= 1 and alpha >= 0, got {neighbors} and {alpha}")
    x = functional.normalize(torch.as_tensor(embeddings).float(), dim=1)
    count = min(neighbors, len(x) - 1)
    if count < 1:
        return x
    _, indices = search(x, x.square().sum(1), choose("auto", x.device, count + 1), unit=True)(x, count + 1)
    itself = indices == torch.arange(len(x), device=x.device)[:, None]
    near = x[indices.gather(1, itself.int().argsort(dim=1, stable=True)[:, :count])]
    weights = (near @ x[:, :, None])[..., 0].clamp(min=0) ** alpha
    return functional.normalize(x + (weights[..., None] * near).sum(dim=1), dim=1)
