"""What noise models and toplines are called."""

from __future__ import annotations

from functools import cache

from dml import discovery
from dml.report.labels import readable
from dml.types import noise_model


@cache
def is_topline(noise: str) -> bool:
    """Whether a noise model leaves out the samples that others mislabel, in place of mislabelling any."""
    return discovery.find("dml.noise", noise_model(noise)).topline  # type: ignore[attr-defined]


def noise_label(noise: str) -> str:
    """`uniform`, or `topline`, whose rate is the share of samples that were left out."""
    return "topline" if is_topline(noise) else readable(noise)


def noise_name(noise: str) -> str:
    """`uniform noise`, or `topline: correct labels only`."""
    return "topline: correct labels only" if is_topline(noise) else f"{readable(noise)} noise"


def noise_axis(noise: str) -> str:
    """What the rate of a noise model is a share of."""
    return f"share of training {'samples left out' if is_topline(noise) else 'labels that are wrong'}"
