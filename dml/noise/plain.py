"""Noise without structure: uniform, none on fewer images, and labels as they were given. Each class is a part."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dml import seeding
from dml.noise._labels import check_classes, check_labels, check_rate, chosen, noisy, others
from dml.tables import host_array
from dml.types import NoisyLabels


class Uniform:
    """Uniform noise: a label becomes one of the K - 1 others, all with the same probability.

    Le and Odobez, "Theoretical guarantees of deep embedding losses under label noise", section 3.2. Deviation: the
    paper flips each label with probability p; here exactly round(p n) labels flip.

    Flips exactly `round(rate * n)` labels, each to another class.

    Parameters
    ----------
    rate : share of the labels that flip, 0 <= rate < 1.

    Examples
    --------
    >>> int(Uniform(rate=0.3).corrupt(np.arange(10) % 5, seed=0).flipped.sum())
    3
    """

    version: ClassVar[int] = 1
    context: ClassVar[tuple[str, ...]] = ()
    topline: ClassVar[bool] = False

    def __init__(self, rate: float) -> None:
        self.rate = check_rate(rate)

    def corrupt(self, labels: np.ndarray, seed: int) -> NoisyLabels:
        """int64 (n,) -> observed int64 (n,) and flipped bool (n,). Raises ValueError for fewer than 2 classes."""
        labels = check_labels(labels)
        classes, true = np.unique(labels, return_inverse=True)
        check_classes(classes, self.rate)
        hit = chosen(len(labels), self.rate, seed)
        observed = labels.copy()
        if len(hit):
            observed[hit] = classes[others(true[hit], len(classes), seeding.numpy_generator(seed, "noise/uniform"))]
        return noisy(labels, observed)


class Subset:
    """The clean topline: training on a random (1 - rate) share of the samples, without wrong labels.

    Le and Odobez, "Theoretical guarantees of deep embedding losses under label noise", section 6.1. The score under
    noise divided by the topline's separates the effect of fewer good labels from that of bad labels. For one seed,
    the topline leaves out exactly the samples that `uniform` flips.

    Leaves out exactly `round(rate * n)` samples, observed as -1, and flips no label. `rate`: share of the samples that
    is left out, 0 <= rate < 1.
    """

    version: ClassVar[int] = 1
    context: ClassVar[tuple[str, ...]] = ()
    topline: ClassVar[bool] = True

    def __init__(self, rate: float) -> None:
        self.rate = check_rate(rate)

    def corrupt(self, labels: np.ndarray, seed: int) -> NoisyLabels:
        """int64 (n,) -> observed int64 (n,), -1 where left out, and flipped bool (n,), all False."""
        labels = check_labels(labels)
        observed = labels.copy()
        observed[chosen(len(labels), self.rate, seed)] = -1
        return noisy(labels, observed)


class Given:
    """Labels as they were given, by people or by a search, beside the verified ones: no noise is added.

    A dataset states both (`docs/datasets.md`). Training images are those whose given label is a training class, as
    in life: some of them may belong to other classes.

    Observes the given labels. The seed has no effect. `rate`: the share of wrong labels under which a study lists them.
    It is not chosen but counted: `corrupt`, the stage, compares the two.
    """

    version: ClassVar[int] = 1
    context: ClassVar[tuple[str, ...]] = ("given",)
    topline: ClassVar[bool] = False
    makes_noise: ClassVar[bool] = False

    def __init__(self, rate: float = 0.0) -> None:
        self.rate = check_rate(rate)

    def corrupt(self, labels: np.ndarray, seed: int, given: np.ndarray | None = None) -> NoisyLabels:
        """int64 (n,) -> observed int64 (n,) and flipped bool (n,).

        `given`: int64 (n,), the labels as they came; -1 leaves a sample out. Raises ValueError: there are none, or
        there is not one for each label.
        """
        labels = check_labels(labels)
        if given is None:
            raise ValueError("noise 'given': the dataset has no labels as given (a column `given`, or an option)")
        observed = host_array(given, "noise 'given': given")
        if observed.shape != labels.shape or observed.dtype.kind not in "iu":
            raise ValueError(
                f"noise 'given': given: expected integers {labels.shape}, got {observed.dtype} {observed.shape}"
            )
        return noisy(labels, observed.astype(np.int64))
