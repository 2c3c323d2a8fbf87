"""The section `claims`: statements of a paper, or the user's own, and what decides each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field, model_validator

from dml.config.paper_claims import PaperClaim, paper_claims
from dml.config.terms import StudySection
from dml.discovery import suggestion
from dml.types import Name, value_text

Match = dict[str, Any]


class ComparisonSection(StudySection):
    """Two sets of cells, paired by everything that neither names. The effect is the first minus the second."""

    first: Match = Field(min_length=1, description="attributes of one set")
    second: Match = Field(min_length=1, description="attributes of the other")


class SlopeSection(StudySection):
    """How the score of some cells, or the difference of two sets, changes with a setting or with the noise rate."""

    over: Name = Field(description="a setting that varies, or `rate`")
    cells: Match = Field({}, description="attributes of the cells")
    first: Match = Field({}, description="in place of `cells`: the slope of the difference of two sets")
    second: Match = Field({}, description="the set that is subtracted")
    scale: Literal["linear", "log"] = Field("linear", description="log: points per doubling")
    values: dict[str, float] = Field({}, description="numbers that stand for values of `over` that are none")

    @model_validator(mode="after")
    def _check(self) -> SlopeSection:
        if bool(self.first) != bool(self.second) or (self.first and self.cells):
            raise ValueError("expected `cells`, or `first` and `second` for the slope of their difference")
        return self

    def number(self, value: Any) -> Any:
        """What a value of `over` counts as."""
        text = "none" if value is None else value if isinstance(value, str) else value_text(value)
        return value if isinstance(value, int | float) else self.values.get(text, value)


class BreakPointSection(StudySection):
    """The noise rates at which two sets of cells lose a share of their topline."""

    first: Match = Field(min_length=1, description="attributes of one set")
    second: Match = Field(min_length=1, description="attributes of the other")
    at: float = Field(90.0, gt=0, lt=100, description="percent of the topline")


class ConditionSection(StudySection):
    """What some cells must reach; otherwise the claim was not tested."""

    cells: Match = Field({}, description="attributes of the cells")
    score: str = Field("", description="none: that of the claim")
    at_least: float | None = Field(None, description="percent, of the mean over seeds of each of these cells")
    at_most: float | None = Field(None, description="percent, in place of `at_least`")

    @model_validator(mode="after")
    def _check(self) -> ConditionSection:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("expected either at_least or at_most, in percent")
        return self


class ClaimSection(StudySection):
    """One claim: by the id of a paper's, or with its own paper, place and text."""

    claim: str = Field("", description="id of a paper's claim in `papers/<paper>/claims.csv`")
    paper: str = Field("", description="of a claim of your own: any name")
    place: str = Field("", description="where the claim is made")
    text: str = Field("", description="the claim")
    compare: ComparisonSection | None = Field(None, description="decides by the difference of two sets of cells")
    slope: SlopeSection | None = Field(None, description="decides by how a score changes")
    break_point: BreakPointSection | None = Field(None, description="decides by the noise rates at which methods fail")
    score: str = Field(
        "",
        description="`<set>/<level>/<metric>`, `<level>/<metric>` or a logged `diagnostics/...`; none: the objective",
    )
    share: bool = Field(False, description="compare shares of the topline's score, in percent")
    direction: Literal["greater", "less", "equal"] = Field(
        "greater", description="of the effect; equal: smaller than the tolerance `least`"
    )
    least: float = Field(
        0.0, description="least effect in points, below 0 what may be lost; with `equal`, the tolerance"
    )
    each: list[Name] = Field([], description="attributes for each value of which, in `first`, the claim must hold")
    where: Match = Field({}, description="attributes of all cells")
    condition: ConditionSection | None = Field(None, description="what must hold, or the claim was not tested")
    published: float | None = Field(None, description="the published effect, in points")
    note: str = Field("", description="a remark for the reader")
    disputed: str = Field("", description="what another look found that the verdict here does not agree with")
    fixed: str = Field("", description="why the claim is about the settings that the study has, so that none is tuned")
    stand_in: str = Field("", description="what the study has in place of the network or data of the claim")

    @model_validator(mode="after")
    def _check(self) -> ClaimSection:
        if self.claim:
            if self.claim not in (known := paper_claims()):
                choices = suggestion(self.claim, sorted(known)) if known else ": the project has no papers/"
                raise ValueError(f"claim: unknown id {self.claim!r}{choices}")
            given = [name for name in ("paper", "place", "text") if getattr(self, name)]
            if given:
                raise ValueError(f"claim {self.claim!r} brings its own {', '.join(given)}: remove {', '.join(given)}")
        elif not (self.paper and self.text):
            raise ValueError("expected `claim: <id>`, or `paper` and `text` (and `place`) of your own claim")
        if sum(part is not None for part in (self.compare, self.slope, self.break_point)) != 1:
            raise ValueError("expected exactly one of compare, slope and break_point: what decides the claim")
        if self.direction == "equal" and self.least <= 0:
            raise ValueError("direction equal: expected the tolerance in `least`, above 0 points")
        if self.direction == "equal" and self.break_point is not None:
            raise ValueError("direction equal: not with break_point, where methods that never break would look equal")
        return self

    @property
    def printed(self) -> PaperClaim | None:
        """The paper's claim that this one tests, if it is not the user's own."""
        return paper_claims()[self.claim] if self.claim else None

    @property
    def test(self) -> ComparisonSection | SlopeSection | BreakPointSection:
        """What decides the claim."""
        found = self.compare or self.slope or self.break_point
        assert found is not None
        return found

    @property
    def kind(self) -> str:
        """The key of `test`: `compare`, `slope` or `break_point`."""
        return next(name for name in ("compare", "slope", "break_point") if getattr(self, name) is not None)

    def sets(self) -> Iterator[tuple[str, Match]]:
        """The one or two sets of cells that decide the claim, by their keys in the study."""
        test = self.test
        if isinstance(test, SlopeSection) and not test.first:
            yield "cells", {**self.where, **test.cells}
        else:
            yield "first", {**self.where, **test.first}
            yield "second", {**self.where, **test.second}

    def differing(self) -> set[str]:
        """The attributes by which the cells of one comparison differ: all others are equal."""
        test = self.test
        keys = {"rate"} if isinstance(test, BreakPointSection) else set()
        if isinstance(test, SlopeSection):
            keys.add(test.over)
        return keys | (set() if isinstance(test, SlopeSection) and not test.first else {*test.first, *test.second})
