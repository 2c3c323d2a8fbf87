"""The sections `losses`, `filters` and `miner`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, PrivateAttr, model_validator

import dml
from dml import discovery
from dml.config.terms import NAMES_ONLY, SpaceTerm, StudySection, checked_parts, extremes
from dml.types import Name, Part, Space, StatedSpace, part_of

LossName = Annotated[Name, part_of("dml.losses")]
FilterName = Annotated[Name, part_of("dml.filters")]

SAMPLE = {"num_classes": 2, "embedding_size": 2}
"""What a trial fills in; these values stand in for it when the settings are checked."""

NO_FILTER = "none"
ESTIMATED = "estimated"
"""As the `rate` of a filter: estimated from the observed training labels of each trial."""
TOLD = "true"
"""As the `rate` of a filter: the true noise rate of the cell, which nobody knows who trains: an oracle."""


class LossSection(StudySection):
    """A loss, its fixed and its searched settings, and optionally its own policies."""

    name: LossName = Field(description="a loss, or a method without training; [parts](parts.md) has all of them")
    settings: dict[str, Any] = Field({}, description="fixed settings")
    search: dict[str, SpaceTerm] | None = Field(
        None, description="a search space for each searched setting; none: the loss's own"
    )
    positives: list[Name] | None = Field(None, description="policies of this loss only; none: those of the study")
    negatives: list[Name] | None = Field(None, description="policies of this loss only; none: those of the study")
    _uses_tuples: bool = PrivateAttr(True)

    @property
    def uses_tuples(self) -> bool:
        """Whether the loss, with these settings, takes the tuples that a miner chooses."""
        return self._uses_tuples

    @checked_parts(lambda section: discovery.check_name("dml.losses", section.name))
    def _check(self) -> None:
        part = discovery.find("dml.losses", self.name)
        label = f"loss {self.name!r}"
        discovery.check_settings(part, {**self.settings, **(self.search or {})}, label)
        for key in SAMPLE:
            if key in {**self.settings, **(self.search or {})}:
                raise ValueError(
                    f"{label}: {key!r} follows from the training labels and training.embedding_size: remove it"
                )
        if both := set(self.settings) & set(self.search or {}):
            raise ValueError(f"{label}: {', '.join(sorted(both))} is fixed in settings and searched: remove one")
        self._uses_tuples = self.check(normalize=True)
        if not self._uses_tuples and (self.positives or self.negatives):
            raise ValueError(f"{label} ignores tuples, so it cannot be paired with positives or negatives: remove them")

    def check(self, normalize: bool) -> bool:
        """Construct the loss at the ends of each searched setting; return whether it uses tuples."""
        searched = {key: extremes(space) for key, space in self._resolved().items()}
        first = {key: values[0] for key, values in searched.items()}
        trials = [{key: value} for key, values in searched.items() for value in values]
        for trial in [*trials, {}]:
            settings = {**first, **self.settings, **trial}
            try:
                loss = dml.losses.build_for(self.name, settings, **SAMPLE, normalize=normalize)
            except (TypeError, ValueError) as error:
                raise ValueError(f"loss {self.name!r}: {error}") from error
        return loss.uses_tuples

    def part(self) -> Part:
        """The loss with the space that a search explores: its own search space where the study gives none."""
        space = self._stated() if self.search is None else self._resolved()
        return Part(self.name, dict(self.settings), {k: v for k, v in space.items() if k not in self.settings})

    def _resolved(self) -> dict[str, Space]:
        """What the study itself says is searched; `own` is the space that the loss states."""
        search, stated = self.search or {}, self._stated()
        for key, space in search.items():
            if isinstance(space, StatedSpace) and key not in stated:
                problem = f"it states no range of its own for it. Those it states: {', '.join(stated) or 'none'}"
                raise ValueError(f"loss {self.name!r}: search: {key}: {problem}")
        return {key: stated[key] if isinstance(space, StatedSpace) else space for key, space in search.items()}

    def _stated(self) -> dict[str, Space]:
        """What the loss says is searched."""
        part, label = discovery.find("dml.losses", self.name), f"loss {self.name!r}"
        stated = getattr(part, "search_space", {})
        if not isinstance(stated, Mapping):
            raise ValueError(f"{label}: search_space: expected a mapping of settings, got {stated!r}")
        for key, space in stated.items():
            if not isinstance(space, Space):
                expected = "Uniform, LogUniform or Choice of dml.types"
                raise ValueError(f"{label}: search_space: {key}: expected {expected}, got {space!r}")
        discovery.check_settings(part, stated, f"{label}: search_space")
        return dict(stated)


class FilterSection(StudySection):
    """A filter and its settings.

    Its `rate` is estimated from the observed labels of each trial (`rate: estimated`, the default), the cell's true
    noise rate (`rate: true`, an oracle), or a number.
    """

    name: FilterName = Field(NO_FILTER, description="`none` keeps every sample")
    settings: dict[str, Any] = Field({}, description="of the filter")

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, content: Any) -> Any:
        if NAMES_ONLY.get() or not isinstance(content, Mapping) or not isinstance(content.get("name", NO_FILTER), str):
            return content
        settings = content.get("settings") or {}
        if not isinstance(settings, Mapping):
            return content
        part = discovery.find("dml.filters", content.get("name", NO_FILTER))
        rate = settings.get("rate", ESTIMATED)
        told = {"rate": TOLD if rate is True else rate}
        return {**content, "settings": {**settings, **discovery.accepted(part, told)}}

    @checked_parts(lambda section: discovery.check_name("dml.filters", section.name))
    def _check(self) -> None:
        part = discovery.find("dml.filters", self.name)
        label = f"filter {self.name!r}"
        discovery.check_settings(part, self.settings, label)
        for key in self.settings:
            if key in SAMPLE:
                raise ValueError(f"{label}: {key!r} follows from the training labels and the network: remove it")
        fixed = {key: value for key, value in self._fixed().items() if value != ESTIMATED}
        try:
            dml.filters.build_for(self.name, {**discovery.accepted(part, {"rate": 0.0}), **fixed}, **SAMPLE)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{label}: {error}") from error

    def part(self) -> Part | None:
        """The filter; None if every sample takes part."""
        return None if self.name == NO_FILTER else Part(self.name, self._fixed())

    def _fixed(self) -> dict[str, Any]:
        """The settings, without a rate that is the cell's: the names of such cells are older than other rates."""
        return {key: value for key, value in self.settings.items() if (key, value) != ("rate", TOLD)}


def is_told(part: Part) -> bool:
    """Whether a filter is told the true noise rate of its cell."""
    takes = discovery.accepted(discovery.find("dml.filters", part.name), {"rate": 0.0})
    return bool(takes) and "rate" not in part.settings


def filter_text(part: Part | None) -> str:
    """What claims call a filter: `none`, `prism`, `prism(rate=0.2)`; `prism(rate=true)`, which cells call `prism`."""
    if part is None:
        return NO_FILTER
    settings = {key: value for key, value in part.settings.items() if (key, value) != ("rate", ESTIMATED)}
    return Part(part.name, {**settings, **({"rate": TOLD} if is_told(part) else {})}).text


class MinerSection(StudySection):
    """Settings shared by all pairs of policies, or one miner of another package by its dotted path."""

    name: str | None = Field(None, description="a miner of another package, by its dotted path, in place of policies")
    settings: dict[str, Any] = Field(
        {}, description="of policies: `margin`, `epsilon` (may be negative), `cutoff`, `max_distance`, `window`"
    )

    @checked_parts(lambda section: None)
    def _check(self) -> None:
        if self.name is not None:
            discovery.check_settings(discovery.find("dml.miners", self.name), self.settings, f"miner {self.name!r}")
            return
        choices = dml.miners.accepted_settings()
        for key in self.settings:
            if key not in choices:
                raise ValueError(f"unknown setting {key!r}{discovery.suggestion(key, sorted(choices))}")
