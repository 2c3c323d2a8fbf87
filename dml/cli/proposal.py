"""What `dml new` proposes for a folder of images: size, batch, steps, and the study's text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dml.cli.templates import environment
from dml.data.survey import Survey

SIDES = (32, 48, 64)  # pixels that a small network trains on quickly without a GPU
GPU_SIDE = 224
BATCH = 64  # images
GPU_BATCH = 128
PER_CLASS = (2, 8)  # images of a class in a batch: the fewest and the most
EPOCHS = 20
STEPS = (200, 2000)
GOAL = 3000.0  # seconds that a study should not exceed, if fewer steps can help


@dataclass(frozen=True)
class Proposal:
    """Settings of a study."""

    resize: int | None  # None: the images have one size, which is small
    classes: int  # in a batch
    per_class: int
    steps: int
    sets: tuple[str, ...]  # that are evaluated
    tune: bool  # there are enough classes to hold out half of them for validation
    gpu: bool


def propose(found: Survey, gpu: bool) -> Proposal:
    """Settings that fit the images.

    Parameters
    ----------
    gpu : whether this machine has one.
    """
    images, fitting = found.per_class("train"), found.index["fine"][found.split["tune"] == "train"].nunique()
    tune = fitting >= 2
    batch = GPU_BATCH if gpu else BATCH
    fewest, most = PER_CLASS
    per_class = max(fewest, min(most if len(images) < batch else 4, int(images.median())))
    classes = max(1, min(batch // per_class, fitting if tune else len(images)))
    per_class = max(fewest, min(batch // classes, int(images.median())))
    steps = round(EPOCHS * int(images.sum()) / (classes * per_class) / 100) * 100
    roles = set(found.split["final"])
    sets = [name for name, of in (("test", {"test", "query"}), ("seen", {"seen"})) if of & roles]
    return Proposal(
        _resize(found, gpu), classes, per_class, min(max(steps, STEPS[0]), STEPS[1]), tuple(sets), tune, gpu
    )


def fewer_steps(steps: int, seconds: float | None) -> int:
    """The steps with which a study of so many seconds takes less than `GOAL`, or the fewest that make sense."""
    if seconds is None or seconds <= GOAL:
        return steps
    return max(STEPS[0], math.floor(steps * GOAL / seconds / 100) * 100)


def _resize(found: Survey, gpu: bool) -> int | None:
    if gpu:
        return GPU_SIDE
    sizes = found.index.loc[found.index["height"] > 0, ["height", "width"]]
    height, width = sizes.iloc[0] if len(sizes) else (0, 0)
    if found.sizes == 1 and height == width and height <= SIDES[-1]:
        return None
    return max((side for side in SIDES if side <= found.side), default=SIDES[0])


def study_text(name: str, options: Mapping[str, Any], found: Survey, settings: Proposal, facts: Sequence[str]) -> str:
    """The study's file.

    Parameters
    ----------
    options : of the source `imagefolder`.
    facts : lines about the images and the cost, for its head.
    """
    template = environment().get_template("study.yaml")
    return template.render(name=name, options=options, corrupt=len(found.corrupt), settings=settings, facts=facts)
