"""No filter, and PRISM and its variant for more noise: P_clean from scores against all classes, and what is kept.

A sample's score against class k is `scale_k . v + offset_k` for its unit embedding v, and over the classes that the
memory holds P_clean(v) = exp(score_y) / sum_k exp(score_k), or 1 for a sample of another class. In the warm-up every
sample is kept and remembered. The threshold: Liu et al., "Noise-resistant deep metric learning with ranking-based
instance selection", CVPR 2021, section 3.3, smooth top-R.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from numbers import Real
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from dml.settings import Shown, check_above, check_count, check_within
from dml.tensors import Ring, checked_labels, directions, may_look


def checked_batch(embeddings: Tensor, labels: Tensor, size: int | None = None, classes: int | None = None) -> Tensor:
    """Labels int64 (N,) on the device of embeddings (N, D). Only a CPU's values are looked at. Raises ValueError."""
    codes = checked_labels(embeddings, labels, "filter: ")
    shape = tuple(embeddings.shape)
    if size is not None and shape[1] != size:
        raise ValueError(f"filter: embeddings: expected (N, {size}) as embedding_size says, got {shape}")
    if not len(embeddings):
        raise ValueError(f"filter: embeddings: expected at least one sample, got {shape}")
    if classes is not None and may_look(labels):
        low, high = (int(bound) for bound in labels.to(torch.int64).aminmax())
        if low < 0 or high >= classes:
            raise ValueError(
                f"filter: labels: expected 0 to {classes - 1} (num_classes {classes}), got {low} to {high}"
            )
    return codes


class None_(Shown, nn.Module):
    """Keeps every sample."""

    version: ClassVar[int] = 1

    def __init__(self) -> None:
        super().__init__()
        self.stats: dict[str, Tensor] = {}

    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """embeddings (N, D), labels int (N,) -> bool (N,), all True."""
        kept = torch.ones_like(checked_batch(embeddings, labels), dtype=torch.bool)
        self.stats = {"kept_share": kept.float().mean()}
        return kept


ALL = slice(None)


class ClassMemory(Ring):
    """The latest samples, and the sum (float64, exact for millions of steps) and number of each class's."""

    sums: Tensor
    counts: Tensor

    def __init__(self, classes: int, size: int, entries: int):
        super().__init__(entries, size)
        self.register_buffer("sums", torch.zeros(classes, size, dtype=torch.float64))
        self.register_buffer("counts", torch.zeros(classes, dtype=torch.int64))

    def add(self, embeddings: Tensor, labels: Tensor, kept: Tensor) -> Tensor:
        """Remember a batch's kept samples. Returns the classes whose sums may have changed, int64 (2 N,)."""
        place, kept = self.places(kept)
        removed = torch.where(kept, self.labels[place], -1)
        gone, came = (removed >= 0).to(torch.int64), kept.to(torch.int64)
        old = torch.where(removed[:, None] >= 0, self.rows[place], 0.0)
        new = torch.where(kept[:, None], embeddings, 0.0)
        removed = removed.clamp_min(0)
        self.sums.index_add_(0, removed, old.double(), alpha=-1).index_add_(0, labels, new.double())
        self.counts.index_add_(0, removed, gone, alpha=-1).index_add_(0, labels, came)
        self.put(place, kept, embeddings, labels)
        return torch.cat((removed, labels))

    def means(self, classes: Tensor | slice = ALL) -> Tensor:
        """float64 (n, D), the means of classes int64 (n,), or of all K; 0 for a class that the memory does not hold."""
        counts = self.counts[classes][:, None]
        return torch.where(counts > 0, self.sums[classes] / counts.clamp_min(1), 0.0)


class Selection(Shown, nn.Module):
    """Keeps the samples that are most probably clean, by what `fit` says of the memory of each class.

    Parameters
    ----------
    num_classes, embedding_size : K and D; a trial fills them in.
    rate : R, the assumed share of wrong labels; a study fills in its own rate unless it sets one. At 0 all are kept.
    memory : entries of the memory.
    window : batches whose quantiles are averaged.
    warm_up : steps that keep every sample.

    Attributes
    ----------
    stats : of the last call: `kept_share`, 0-d.
    """

    least: ClassVar[int] = 1  # dimensions of the embeddings
    scale: Tensor
    offset: Tensor
    quantiles: Tensor
    memory: ClassMemory
    _rate: float
    _warm_up: int
    _steps: int

    def __init__(
        self,
        num_classes: int,
        embedding_size: int,
        rate: float,
        memory: int = 9_500,
        window: int = 30,
        warm_up: int = 100,
    ):
        super().__init__()
        if isinstance(rate, bool) or not isinstance(rate, Real) or not 0 <= float(rate) < 1:
            raise ValueError(f"rate: expected the share of wrong labels, 0 <= rate < 1; got {rate!r}")
        given = {"num_classes": num_classes, "embedding_size": embedding_size, "memory": memory, "window": window}
        for name, value in given.items():
            check_count(name, value, self.least if name == "embedding_size" else 1)
        self._rate, self._warm_up, self._steps = float(rate), check_count("warm_up", warm_up, 0), 0
        self.memory = ClassMemory(num_classes, embedding_size, memory)
        self.stats: dict[str, Tensor] = {}
        self.register_buffer("quantiles", torch.zeros(window, dtype=torch.float64))
        self.register_buffer("scale", torch.zeros(num_classes, embedding_size))
        self.register_buffer("offset", torch.full((num_classes,), -torch.inf))  # of a class without a memory

    @abstractmethod
    def fit(self, means: Tensor) -> tuple[Tensor, Tensor]:
        """Means float64 (n, D) of some classes -> `scale` (n, D) and `offset` (n,)."""

    @torch.no_grad()
    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        """embeddings (N, D), labels int (N,) -> bool (N,): which samples take part; none that is not finite."""
        labels = checked_batch(embeddings, labels, self.scale.shape[1], len(self.scale))
        with torch.autocast(embeddings.device.type, enabled=False):
            unit = directions(embeddings.detach().float())
            finite = unit.isfinite().all(1)
            unit = torch.where(finite[:, None], unit, 0.0)  # one NaN in the memory would stay in it for good
            if self._steps < self._warm_up:
                kept = finite
            else:
                kept = self._above(self.probabilities(unit, labels)) | (self.memory.counts[labels] == 0)
                kept = kept & finite
            self._steps += 1
            changed: Tensor | slice = self.memory.add(unit, labels, kept)
            if 2 * len(labels) >= len(self.scale):
                changed = ALL  # fewer rows
            scale, offset = self.fit(self.memory.means(changed))
            self.scale[changed] = scale.float()  # a class that comes several times gets equal rows
            self.offset[changed] = torch.where(self.memory.counts[changed] > 0, offset, -torch.inf).float()
        self.stats = {"kept_share": kept.double().mean()}
        return kept

    def _above(self, probabilities: Tensor) -> Tensor:
        """Probabilities (N,) -> bool (N,): above the mean of the last quantiles, or if none is, of the batch's one."""
        if self._rate == 0:
            return torch.ones_like(probabilities, dtype=torch.bool)
        values, batch = probabilities.double(), self._steps - self._warm_up
        least = torch.quantile(values, self._rate)
        self.quantiles[batch % len(self.quantiles)] = least
        above = values > self.quantiles[: batch + 1].mean()
        return torch.where(above.any(), above, values >= least)

    def probabilities(self, unit: Tensor, labels: Tensor) -> Tensor:
        """P_clean (N,) of unit embeddings float32 (N, D) with labels int64 (N,); 1 without a memory of the class."""
        scores = torch.addmm(self.offset, unit, self.scale.T)
        of_class = scores.gather(1, labels[:, None])[:, 0]
        return torch.where(self.memory.counts[labels] > 0, (of_class - scores.logsumexp(1)).exp(), 1.0)

    def get_extra_state(self) -> dict[str, Any]:
        return {"steps": self._steps}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        self._steps = state["steps"]


class Prism(Selection):
    """PRISM: samples that agree with their class's memory less than others do are left out.

        P_clean(v) = exp(w_y . v) / sum_k exp(w_k . v)

    with the unit embedding v of a sample of observed class y, and the mean w_k of class k's unit embeddings in a memory
    of recent kept samples. Samples with P_clean above the mean of the last `window` batches' R-th quantiles take part.

    Liu, Yu, Qin, Khan, Loy, "Noise-resistant deep metric learning with ranking-based instance selection", CVPR 2021
    (arXiv 2103.16047), sections 3.2 and 3.3. The module says what happens to classes without a memory.

    Parameters: see `Selection`.
    """

    version: ClassVar[int] = 1

    def fit(self, means: Tensor) -> tuple[Tensor, Tensor]:
        """The means, and 0."""
        return means, means.new_zeros(len(means))


LEAST = 24  # order from which the expansion is used
# Coefficients of u_k(t) / t^k in t^2, from u_0 on: DLMF 10.41.10.
DEBYE = (
    (1.0,),
    (3 / 24, -5 / 24),
    (81 / 1152, -462 / 1152, 385 / 1152),
    (30375 / 414720, -369603 / 414720, 765765 / 414720, -425425 / 414720),
    (4465125 / 39813120, -94121676 / 39813120, 349922430 / 39813120, -446185740 / 39813120, 185910725 / 39813120),
)


def log_bessel(order: float, x: Tensor) -> Tensor:
    """log I_order(x) for x > 0, float64, of any shape."""
    up = max(0, math.ceil(LEAST - order))
    value, above = _debye(order + up, x), _debye(order + up + 1, x)
    ratio = (above - value).exp()  # I_(m+1) / I_m
    for m in range(up, 0, -1):
        step = 2 * (order + m) / x + ratio
        value, ratio = value + step.log(), 1 / step
    return value


def _debye(order: float, x: Tensor) -> Tensor:
    z = x / order
    root = torch.sqrt(1 + z**2)
    t = 1 / root
    eta = root + torch.log(z / (1 + root))
    series = torch.zeros_like(x)
    for k, coefficients in enumerate(DEBYE):
        inner = torch.zeros_like(x)
        for c in reversed(coefficients):
            inner = inner * t**2 + c
        series = series + inner * (t / order) ** k
    return order * eta - 0.5 * math.log(2 * math.pi * order) - 0.5 * root.log() + series.log()


LONGEST = 0.99
SHORTEST = 1e-4  # a mean of length 0 has no direction, and the distribution is then nearly uniform


class PrismVmf(Selection):
    """PRISM with a von Mises-Fisher distribution of each class, for noise above one half.

        P_clean(v) = f_y(v) / sum_k f_k(v),   f_k(v) = c_D(kappa_k) exp(kappa_k mu_k . v)
        kappa_k = r (D - r^2) / (1 - r^2)

    with the direction mu_k and the length r of the mean of class k's unit embeddings in the memory, and
    c_D(kappa) = kappa^(D/2 - 1) / ((2 pi)^(D/2) I_(D/2 - 1)(kappa)). Everything is in logarithms, since the constants
    overflow. The threshold and the memory are PRISM's.

    Liu et al., "Noise-resistant deep metric learning with probabilistic instance filtering", arXiv 2108.01431. The
    concentration: Banerjee et al., "Clustering on the unit hypersphere using von Mises-Fisher distributions", JMLR
    2005, section 4.4. Deviation: r counts as at most `LONGEST`, since a class with one sample in the memory has r = 1
    and an infinite concentration.

    I is the modified Bessel function of the first kind. Debye's expansion of its logarithm, uniform in the argument
    (NIST Digital Library of Mathematical Functions, 10.41.3), has a relative error below 3e-9 from order 24 up. Smaller
    orders follow by the recurrence I_(m-1) = (2 m / x) I_m + I_(m+1), which is stable in this direction.

    Parameters: see `Selection`.
    """

    version: ClassVar[int] = 1
    least: ClassVar[int] = 2

    def fit(self, means: Tensor) -> tuple[Tensor, Tensor]:
        """Means (n, D), D at least 2 -> kappa mu (n, D) and log c_D(kappa) (n,)."""
        dimension = means.shape[1]
        length = means.norm(dim=1, keepdim=True)
        r = length.clamp(SHORTEST, LONGEST)
        kappa = r * (dimension - r**2) / (1 - r**2)
        direction = means / length.clamp_min(SHORTEST)
        order, single = dimension / 2 - 1, kappa[:, 0]
        constant = order * single.log() - log_bessel(order, single) - dimension / 2 * math.log(2 * math.pi)
        return kappa * direction, constant


FADING = 0.9


class SubCenters(Shown, nn.Module):
    """Sub-centres' dropping: samples far from their class's dominant centre are left out.

        kept: the angle between the embedding and centre k* of its class is at most `angle`

    The loss has several centres a class (`arcface` with `centers`, `soft_triple`). Each sample belongs to the nearest
    one of its class, and k* is the centre to which most of the class's latest samples belong: wrong labels gather at
    others. The filter has to `watch` a loss first.

    Deng, Guo, Liu, Gong, Zafeiriou, "Sub-center ArcFace: boosting face recognition by large-scale noisy web faces",
    ECCV 2020, section 3.4: samples of non-dominant centres and those beyond 75 degrees are dropped. Deviations: the
    paper counts once, after a whole training, and trains again with one centre; here batches are counted as they come,
    each weighs `FADING` times as much as its class's next one, and nothing is dropped in the first `warm_up` steps.

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
