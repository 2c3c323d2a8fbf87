"""Every other sample of the anchor's class: C_a.

With a policy that chooses one negative a positive pair this is the 1-1 scheme of "Deep embedding losses under label
noise" (section 4.1), one triple per ordered positive pair; with `semihard_fixed` or `semihard_random` it is the
semi-hard mining of FaceNet (Schroff, Kalenichenko and Philbin, CVPR 2015, section 3.2).
"""

from __future__ import annotations

from torch import Tensor

from dml.miners._batch import Batch, Draw


class All:
    """All positives of the anchor."""

    def __call__(self, batch: Batch, draw: Draw) -> Tensor:
        """-> int64 (N, S), S the size of the largest class less one."""
        return batch.mates
