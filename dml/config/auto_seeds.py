"""`seeds: auto`: how many seeds a study may take. `dml.config.comparisons` says when it has enough."""

from __future__ import annotations

from typing import Any

from pydantic import Field, ValidationError, model_validator

from dml import sequential
from dml.config.errors import LocatedError
from dml.config.terms import StudySection


class AutoSection(StudySection):
    """The least and the most seeds of a cell: `seeds: {auto: {least: 3, most: 20}}`."""

    least: int = Field(3, ge=3, description="seeds of every cell")
    most: int = Field(20, ge=4, le=200, description="seeds of a cell whose comparison stays open")

    @model_validator(mode="after")
    def _check(self) -> AutoSection:
        if self.most <= self.least:
            raise ValueError(f"most: expected more than `least` ({self.least}), got {self.most}")
        return self

    @property
    def looks(self) -> tuple[int, ...]:
        """After how many seeds the comparisons are looked at."""
        return sequential.looks(self.least, self.most)


def fill(content: dict[str, Any]) -> dict[str, Any]:
    """A study's settings with the list of seeds that `seeds: auto` or `seeds: {auto: {...}}` stands for.

    Raises
    ------
    LocatedError : other keys beside `auto`, or a wrong `least` or `most`.
    """
    given = content.get("seeds")
    if given == "auto":
        given = {"auto": {}}
    if not isinstance(given, dict):
        return content
    if set(given) != {"auto"} or not isinstance(given["auto"] or {}, dict):
        raise LocatedError(f"expected a list, auto, or {{auto: {{least: 3, most: 20}}}}, got {given}", "seeds")
    try:
        own = AutoSection(**(given["auto"] or {}))
    except ValidationError as error:
        first = error.errors()[0]
        unknown = f"unknown key. Choices: {', '.join(AutoSection.model_fields)}"
        text = unknown if first["type"] == "extra_forbidden" else f"{first['msg']}, got {first['input']!r}"
        text = text.removeprefix("Value error, ").replace("Input should be", "expected")
        raise LocatedError(text, "seeds", "auto", *first["loc"]) from None
    return {**content, "seeds": list(range(own.most)), "auto_seeds": own}
