"""How names are written for a reader, and the report's sentences: those of a module are in the YAML file of its name.

say = Texts(__file__)
say("ends", where="at once")  # the text `ends` with its placeholder `{where}` filled
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import yaml

from dml import discovery
from dml.config.data import makes_noise
from dml.report import numbers
from dml.types import ScoreKey, noise_model, value_text

SETS = {
    "test": "test classes",
    "seen": "training classes, held-out images",
    "train": "training classes, training images",
    "validation": "validation classes",
}
_SPELT = {"nmi": "NMI", "nmi+": "NMI+", "f1": "F1", "map@r": "MAP@R", "map": "mAP", "pair_auc": "pair AUC"}


def metric_label(metric: str) -> str:
    """A metric as the papers write it: `recall@1` -> `R@1`, `nmi+` -> `NMI+`, `nmi@30` -> `NMI, 30 clusters`."""
    stem, at, k = metric.partition("@")
    if at and stem in ("recall", "precision"):
        return f"{stem[0].upper()}@{k}"
    if k.isdecimal():
        return f"{metric_label(stem)}, {k} clusters"
    return _SPELT.get(metric, metric)


def metric_of(key: str) -> str:
    """`test/fine/recall@1` -> `recall@1`."""
    return ScoreKey.parse(key).metric


def score_label(key: str) -> str:
    """`test/fine/recall@1` -> `R@1, test classes, fine labels`."""
    split, level, metric = ScoreKey.parse(key)
    judged_by = "against labels as given" if level == "given" else f"{level} labels"
    return f"{metric_label(metric)}, {SETS.get(split, split)}, {judged_by}"


def readable(name: str) -> str:
    """A part's name without underscores: `semihard_random` -> `semihard random`."""
    return name.replace("_", " ").replace("all-pairs", "all pairs")


def value_label(value: Any) -> str:
    """A setting's value, as in a cell's name; `none` for a setting that is not set; of a start `<study> (triplet)`."""
    if isinstance(value, Mapping) and {"study", "cell"} == set(value):
        return f"{value['study']} ({', '.join(map(value_text, value['cell'].values()))})"
    return "none" if value is None else value_text(value)


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


def level_label(noise: str, rate: float, user_labels: bool) -> str:
    """`20% noise`; of a user's own labels `as given`, or `as given, with a fifth more made wrong`."""
    made = user_labels and makes_noise(noise) and not is_topline(noise)
    return numbers.made_wrong(rate) if made else f"{numbers.rate(rate)} noise"


def noise_axis(noise: str, user_labels: bool = False) -> str:
    """What the rate of a noise model is a share of."""
    if is_topline(noise):
        return "share of training samples left out"
    return f"share of training labels that {'was made wrong' if user_labels and makes_noise(noise) else 'are wrong'}"


class Texts:
    """The texts of one module."""

    def __init__(self, module: str) -> None:
        self.file = Path(module).with_suffix(".yaml")

    @cached_property
    def named(self) -> dict[str, str]:
        """All texts with their placeholders, by name."""
        return yaml.safe_load(self.file.read_text(encoding="utf-8"))

    def __call__(self, name: str, /, **values: object) -> str:
        """A text with its placeholders filled."""
        return self.named[name].format(**values)


def joined(*sentences: str) -> str:
    """Sentences one after the other; empty ones are left out."""
    return " ".join(filter(None, sentences))
