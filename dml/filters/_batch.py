"""What every filter is given, checked before its memory changes."""

from __future__ import annotations

from torch import Tensor


def check_batch(embeddings: Tensor, labels: Tensor, size: int | None = None, classes: int | None = None) -> None:
    """Check a batch. Values of labels are looked at on a CPU only: reading them from a GPU would wait for it.

    Parameters
    ----------
    embeddings : (N, D). labels : int (N,).
    size, classes : D and K; None: any.

    Raises
    ------
    ValueError : no samples, other shapes, labels that are not integers, or labels that are not from 0 to K - 1.
    """
    width = "D" if size is None else size
    if embeddings.ndim != 2 or (size is not None and embeddings.shape[1] != size):
        stated = "" if size is None else " as embedding_size says"
        raise ValueError(f"filter: embeddings: expected (N, {width}){stated}, got {tuple(embeddings.shape)}")
    if not len(embeddings):
        raise ValueError(f"filter: embeddings: expected at least one sample, got {tuple(embeddings.shape)}")
    if labels.shape != embeddings.shape[:1]:
        raise ValueError(
            f"filter: labels: expected ({len(embeddings)},), one for each embedding, got {tuple(labels.shape)}"
        )
    if labels.is_floating_point() or labels.is_complex():
        raise ValueError(f"filter: labels: expected integers, got {labels.dtype}")
    if classes is None or labels.device.type != "cpu":
        return
    low, high = (int(bound) for bound in labels.aminmax())
    if low < 0 or high >= classes:
        raise ValueError(f"filter: labels: expected 0 to {classes - 1} (num_classes {classes}), got {low} to {high}")
