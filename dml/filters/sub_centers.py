"""Sub-centres' dropping: samples far from their class's dominant centre are left out.

    kept: the angle between the embedding and centre k* of its class is at most `angle`

The loss has several centres a class (`arcface` with `centers`, `soft_triple`). Each sample belongs to the nearest one
of its class, and k* is the centre to which most of the class's latest samples belong: wrong labels gather at others.

Deng, Guo, Liu, Gong, Zafeiriou, "Sub-center ArcFace: boosting face recognition by large-scale noisy web faces",
ECCV 2020, section 3.4: samples of non-dominant centres and those beyond 75 degrees are dropped. Deviations: the paper
counts once, after a whole training, and trains again with one centre; here batches are counted as they come, each
weighs `FADING` times as much as its class's next one, and nothing is dropped in the first `warm_up` steps.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from dml.filters.memories import checked_batch
from dml.settings import check_above, check_count, check_within
from dml.tensors import directions

FADING = 0.9


class SubCenters(nn.Module):
    """Keeps the samples near the dominant centre of their class. It has to `watch` a loss first.

    Parameters
    ----------
    angle : in degrees; above 0 to 180.
    warm_up : steps that keep every sample.

    Attributes
    ----------
    stats : of the last call: `kept_share`, 0-d.
    """

    version: ClassVar[int] = 1
    counts: Tensor

    def __init__(self, angle: float = 75.0, warm_up: int = 100):
        super().__init__()
        check_above("angle", angle, 0)
        check_within("angle", angle, 0, 180)
        self._least, self._warm_up = math.cos(math.radians(angle)), check_count("warm_up", warm_up, 0)
        self._steps = 0
        self._centers: list[Tensor] = []  # the loss's parameter, which is not part of this state
        self.stats: dict[str, Tensor] = {}

    def watch(self, loss: Any) -> None:
        """Take the centres of a loss, as they are at each step.

        Raises ValueError: it has not several centres for each class.
        """
        centers = getattr(loss, "proxies", None)
        if centers is None or centers.ndim != 3:
            raise ValueError(
                "filter 'sub_centers' needs a loss with several centres a class. Choices: arcface with centers: 3, "
                f"soft_triple; got {type(loss).__name__}"
            )
        self._centers = [centers]
        self.register_buffer("counts", torch.zeros(centers.shape[:2], device=centers.device))

    @torch.no_grad()
    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """embeddings (N, D), labels int (N,) -> bool (N,): which samples take part.

        Raises ValueError: another batch than the loss takes, or no loss is watched.
        """
        if not self._centers:
            raise ValueError("filter 'sub_centers': expected `watch(loss)` before the first batch")
        count, _, size = self._centers[0].shape
        labels = checked_batch(embeddings, labels, size, count)
        with torch.autocast(embeddings.device.type, enabled=False):
            unit = directions(embeddings.float())
            centers = self._centers[0].to(unit)[labels]
            cosines = (directions(centers.flatten(0, 1)).view_as(centers) * unit[:, None]).sum(2)
        finite = cosines.isfinite().all(1)
        self.counts[labels] = self.counts[labels] * FADING  # once for each class
        self.counts.index_put_((labels, cosines.argmax(1)), finite.to(self.counts.dtype), accumulate=True)
        cosine = cosines.gather(1, self.counts[labels].argmax(1, keepdim=True))[:, 0].where(finite, -2.0)
        kept = cosine >= self._least if self._steps >= self._warm_up else finite
        kept = torch.where(kept.any(), kept, cosine == cosine.max()) & finite
        self._steps += 1
        self.stats = {"kept_share": kept.double().mean()}
        return kept

    def get_extra_state(self) -> dict[str, Any]:
        return {"steps": self._steps}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        self._steps = state["steps"]
