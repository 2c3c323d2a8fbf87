"""The sections `datasets` and `noise`."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag

import dml
from dml import discovery
from dml.config.terms import EvaluatedLevel, Level, StudySection, checked_parts
from dml.data import sources
from dml.files import LONGEST_NAME
from dml.types import Name, Resize, noise_model, part_of

SourceName = Annotated[Name, part_of("dml.data.sources")]
NoiseName = Annotated[Name, part_of("dml.noise")]


def _kind(value: Any) -> str | None:
    if value is None or isinstance(value, Mapping | Resize):
        return "constrained-none" if value is None else "constrained-mapping"
    return "constrained-word" if value == NETWORK else "constrained-side" if not isinstance(value, str) else None


def _plain(resize: Any) -> Any:
    """A side where no more is said."""
    return resize.side if isinstance(resize, Resize) and resize == Resize(resize.side) else resize


NETWORK = "network"
ResizeTerm = Annotated[
    Annotated[int, Field(ge=4, le=4096), Tag("constrained-side")]
    | Annotated[Literal["network"], Tag("constrained-word")]
    | Annotated[Resize, Tag("constrained-mapping")]
    | Annotated[None, Tag("constrained-none")],
    Discriminator(
        _kind,
        custom_error_type="resize",
        custom_error_message="expected a side in pixels, network, or {side, interpolation, crop}",
    ),
    AfterValidator(_plain),
]
"""`224`, `network`, or `{side: 224, interpolation: bicubic, crop: 0.875}`."""

OF_IMAGES = ("resize", "mirror", "on_corrupt")


class DatasetSection(StudySection):
    """Which images, how they are packed, and which labels are used to train and to evaluate."""

    name: SourceName = Field(description="[datasets](datasets.md) has all of them")
    id: str = Field("", description="what the study calls it; none: its name")
    settings: dict[str, Any] = Field({}, description="settings of the source")
    resize: ResizeTerm = Field(
        None,
        description="side of the packed square, in pixels; network: as the [network](networks.md#pixels) was trained; "
        "none: the image's own size",
    )
    mirror: bool = Field(
        True,
        description="whether the mirror image of an image shows the same class; false for text, digits and letters, "
        "which are then never mirrored",
    )
    on_corrupt: Literal["error", "skip"] = Field(
        "error", description="what happens to images that cannot be decoded; a missing file is always an error"
    )
    train_on: Level = Field("fine", description="labels that training sees")
    evaluate_on: list[EvaluatedLevel] = Field(
        ["fine"], min_length=1, description="labels that scores use; `given`: as they came, where nobody verified them"
    )

    @checked_parts(lambda section: discovery.check_name("dml.data.sources", section.name))
    def _check(self) -> None:
        discovery.check_settings(sources.find(self.name), self.settings, f"source {self.name!r}")
        discovery.check_complete(sources.find(self.name), self.settings, f"source {self.name!r}: settings")
        sources.build(self.name, **self.settings)
        of_images = [name for name in OF_IMAGES if getattr(self, name) != type(self).model_fields[name].default]
        if self.passes_on is not None and of_images:
            raise ValueError(f"source {self.name!r} has no images: remove {', '.join(of_images)}")
        levels = (*self.levels, *(["given"] if getattr(sources.find(self.name), "takes_given", False) else []))
        for level in [self.train_on, *self.evaluate_on]:
            if level not in levels:
                raise ValueError(f"source {self.name!r} has no {level!r} labels. Choices: {', '.join(levels)}")
        if not re.fullmatch(r"\w[\w.+-]*", self.label) or len(self.label.encode()) > LONGEST_NAME:
            raise ValueError(
                f"id: {self.label!r} is used in file names: expected only letters, digits and the signs . _ + -, the "
                f"first a letter or a digit, at most {LONGEST_NAME} bytes"
            )

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels of labels that the source has."""
        return sources.find(self.name).levels

    @property
    def passes_on(self) -> str | None:
        """Of a source of vectors, the backbone that takes them as they are; None for images."""
        source = sources.find(self.name)
        return getattr(source, "backbone", None) if hasattr(source, "vectors") else None

    @property
    def mirrors(self) -> bool:
        """Whether the mirror image of an image shows the same class, as far as the source and the study say."""
        return self.mirror and getattr(sources.find(self.name), "mirrors", True)

    @property
    def side(self) -> int | None:
        """Of the packed square, in pixels; None: the images' own size, or that of a network, not resolved yet."""
        return getattr(self.resize, "side", self.resize if isinstance(self.resize, int) else None)

    @property
    def packing(self) -> dict[str, Any]:
        """How its images are packed, as `dml.data.packing.pack` takes it. `Study.with_pixels` resolves `network`."""
        assert self.resize != NETWORK, self.label
        how: Any = self.resize
        if isinstance(how, Resize):
            how = {name: value for name, value in asdict(how).items() if value != getattr(Resize, name, None)}
        return {"resize": how, "on_corrupt": self.on_corrupt}

    @property
    def raw(self) -> str:
        """The name of the folder of its raw files. Studies that use the same source with the same settings share it."""
        digest = hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode()).hexdigest()[:8]
        return f"{self.name}-{digest}" if self.settings else self.name

    @property
    def label(self) -> str:
        """The dataset's name in the study."""
        return self.id or self.name.rsplit(".", 1)[-1]


class FoldsSection(StudySection):
    """Class splits by cross-validation."""

    folds: int = Field(ge=2, le=100, description="each class is tested in one of so many folds")


ClassSplits = Annotated[int, Field(strict=True, ge=1, le=100)] | FoldsSection
"""How many class splits, the source's own among them; or folds of all classes (`dml.data.splits`)."""


def makes_noise(noise: str) -> bool:
    """Whether a noise model makes labels wrong, or leaves samples out, by its rate; others read labels as they came."""
    return bool(getattr(discovery.find("dml.noise", noise_model(noise)), "makes_noise", True))


class NoiseSection(StudySection):
    """A noise model and its rates."""

    name: NoiseName = Field("uniform", description="[parts](parts.md) has all of them")
    id: str = Field("", pattern=r"^[\w.+-]*$", description="tells noises of the same model and rate apart")
    rates: list[Annotated[float, Field(ge=0, lt=1)]] = Field(
        [0.0], min_length=1, description="shares of wrong labels among the training images"
    )
    settings: dict[str, Any] = Field({}, description="settings of the model")

    @checked_parts(lambda section: discovery.check_name("dml.noise", section.name))
    def _check(self) -> None:
        for rate in self.rates:
            dml.noise.build(self.name, rate=rate, **self.settings)
        if self.by_given and len(self.rates) > 1:
            raise ValueError(f"noise {self.name!r}: its rate is counted, so there is one; got {self.rates}")

    @property
    def label(self) -> str:
        """What cells call it: the model, or `name:id`."""
        return f"{self.name}:{self.id}" if self.id else self.name

    @property
    def by_given(self) -> bool:
        """Whether the model observes labels as given, so that training images are chosen by them."""
        return "given" in discovery.find("dml.noise", self.name).context  # type: ignore[attr-defined]
