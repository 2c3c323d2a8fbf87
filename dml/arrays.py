"""Values that callers give, as NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np


def host_array(values: Any, what: str) -> np.ndarray:
    """A tensor on any device, a list, a Series or an array as an array of this machine's byte order.

    It shares memory with what is given where it can. `what` begins the error messages.

    Raises
    ------
    ValueError : sparse or nested tensors, sparse matrices, masked entries, or lists of different lengths.
    """
    if hasattr(values, "detach"):
        tensor = values.detach()
        if tensor.is_nested or tensor.is_meta or str(tensor.layout) != "torch.strided":
            kind = "nested" if tensor.is_nested else "meta" if tensor.is_meta else str(tensor.layout)
            raise ValueError(f"{what}: expected a dense array, got a tensor that is {kind}")
        if tensor.is_floating_point() and str(tensor.dtype) not in ("torch.float16", "torch.float32", "torch.float64"):
            tensor = tensor.float()  # NumPy has no bfloat16
        return tensor.cpu().resolve_conj().resolve_neg().numpy()
    if hasattr(values, "tocsr"):
        raise ValueError(f"{what}: expected a dense array, got {type(values).__name__}; `toarray()` makes one")
    if np.ma.isMaskedArray(values) and np.ma.is_masked(values):
        raise ValueError(f"{what}: expected numbers only, got {np.ma.count_masked(values)} masked entries")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{what}: expected an array, got rows of different lengths") from error
    return array.astype(array.dtype.newbyteorder("="), copy=False)
