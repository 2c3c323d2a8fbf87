"""Batches for training: drawn, gathered from the mapped array, and where that takes time made ahead of their use."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor


class Sampler(Protocol):
    """What `dml.data.batches.build` returns."""

    def __iter__(self) -> Iterator[np.ndarray]: ...
    def __next__(self) -> np.ndarray: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any]) -> None: ...


class Batch(NamedTuple):
    """One batch on the device."""

    images: Tensor  # uint8 (B / share, C, H, W)
    labels: Tensor  # int64 (B,): observed classes of the whole batch


class Feeder:
    """Yields batches for ever. On a GPU, and where images are decoded, the next is read while the present one trains.

    A CPU reads mapped pixels in less time than it takes to hand them over.

    Parameters
    ----------
    images : (N, H, W, C) uint8, mapped or decoded; indexed by rows.
    rows : int64 (n,), the training images' rows.
    observed : int64 (n,), their observed classes.
    sampler : draws positions into `rows`.
    device : where batches go.
    share : `(rank, size)`: of each batch, read the images of the rank-th of `size` equal parts.
    """

    def __init__(
        self,
        images: Any,
        rows: np.ndarray,
        observed: np.ndarray,
        sampler: Sampler,
        device: torch.device | str,
        share: tuple[int, int] = (0, 1),
    ):
        self._rank, self._size = share
        self._images, self._rows, self._observed, self._sampler = images, rows, observed, sampler
        self._device = torch.device(device)
        self._state = sampler.state_dict()
        self._pinned = self._device.type == "cuda"
        self._ahead = self._pinned or not isinstance(images, np.ndarray)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="feeder")  # starts with its first task
        self._pending: Future | None = None

    def next(self) -> Batch:
        """The next batch."""
        host, self._state = self._pending.result() if self._pending else self._fetch()
        self._pending = self._thread.submit(self._fetch) if self._ahead else None
        return Batch(*(tensor.to(self._device, non_blocking=True) for tensor in host))

    def _fetch(self) -> tuple[Batch, dict[str, Any]]:
        positions = next(self._sampler)
        own = np.split(positions, self._size)[self._rank]
        images = torch.from_numpy(np.ascontiguousarray(self._images[self._rows[own]])).permute(0, 3, 1, 2)
        labels = torch.from_numpy(self._observed[positions])
        batch = Batch(images, labels)
        if self._pinned:
            batch = Batch(*(tensor.pin_memory() for tensor in batch))
        return batch, self._sampler.state_dict()

    def state_dict(self) -> dict[str, Any]:
        """The sampler's state after the last batch that was handed out, whatever has been read ahead."""
        return self._state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on after the batch at which `state` was taken."""
        if self._pending is not None:
            self._pending.result()
            self._pending = None
        self._sampler.load_state_dict(state)
        self._state = state

    def close(self) -> None:
        """End the reading thread."""
        self._thread.shutdown(cancel_futures=True)
