"""ArcFace, CosFace and their combination (Deng et al. 2019, ArcFace, eq. 4), with sub-centres (Deng et al. 2020).

    mean over the batch of cross-entropy of  s (cos(m1 t_y + m2) - m3)  beside  s cos t_c,  c != y

t_c is the angle between the embedding and class c's weights: with several centres the least of theirs (Sub-center
ArcFace, eq. 2), so that wrong labels can gather at a centre of their own. ArcFace is m1 = 1, m3 = 0; CosFace (Wang et
al. 2018) is m1 = 1, m2 = 0; SphereFace's margin (Liu et al. 2017) is m1.

Angles have no length, so `normalize: false` changes nothing.

Deviation: where m1 t + m2 passes pi, the logit goes on as -2 - cos(m1 t + m2) (SphereFace, sec. 3.2), which has no jump
and still falls; ArcFace's code takes cos t - m2 sin m2 there.

Search space: around the scale 64 and margin 0.5 of faces, down to those of few classes and steps (Musgrave et al. 2020
search 0.01 to 100 and 0 to 0.9 on CUB-200-2011). The rate of the weights is that of `proxy_nca`.
"""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Tensor

from dml.losses._proxies import SampleLoss
from dml.settings import check_above, check_at_least, check_within
from dml.types import LogUniform, Space, Uniform


class Arcface(SampleLoss):
    """A classifier by angles, with a margin for the right class. Its weights are `parameters()`.

    Parameters
    ----------
    num_classes : labels are 0 .. num_classes - 1.
    embedding_size : D.
    margin : m2, added to the angle of the right class, in radians; 0 to pi / 2.
    cosine_margin : m3, taken from its cosine: CosFace's; >= 0.
    factor : m1, by which its angle is multiplied: SphereFace's; >= 1.
    scale : s; > 0.
    centers : per class.
    normalize : has no effect.
    """

    version: ClassVar[int] = 1
    search_space: ClassVar[dict[str, Space]] = {"scale": LogUniform(8, 128), "margin": Uniform(0.0, 0.8)}

    def __init__(
        self,
        num_classes: int,
        embedding_size: int,
        margin: float = 0.5,
        cosine_margin: float = 0.0,
        factor: float = 1.0,
        scale: float = 64.0,
        centers: int = 1,
        normalize: bool = True,
    ):
        super().__init__(num_classes, embedding_size, True, centers)
        check_above("scale", scale, 0)
        check_within("margin", margin, 0, math.pi / 2)
        check_at_least("cosine_margin", cosine_margin, 0)
        check_at_least("factor", factor, 1)
        self.margin, self.cosine_margin, self.factor, self.scale = margin, cosine_margin, factor, scale

    def each(self, similarities: Tensor, labels: Tensor) -> Tensor:
        """Cosines (N, C) or (N, C, centers), labels int64 (N,) -> (N,)."""
        cosines = similarities.amax(2) if self.centers > 1 else similarities
        own = cosines.gather(1, labels[:, None])
        logits = self.scale * cosines.scatter(1, labels[:, None], self._with_margin(own))
        return torch.nn.functional.cross_entropy(logits, labels, reduction="none")

    def _with_margin(self, cosines: Tensor) -> Tensor:
        """(N, 1) -> (N, 1)."""
        if self.margin or self.factor != 1:
            inside = 1 - 4 * torch.finfo(cosines.dtype).eps  # the slope of the angle is infinite at 0 and pi
            angles = cosines.clamp(-inside, inside).acos()
            angles = angles + (cosines.detach().clamp(-1, 1).acos() - angles.detach())  # to its end, without its slope
            angles = self.factor * angles + self.margin
            bent = angles.cos()
            cosines = torch.where(angles <= math.pi, bent, -2 - bent)
        return cosines - self.cosine_margin
