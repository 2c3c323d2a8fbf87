"""What the sections share: their base model, and the terms in which a study writes a search space."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SerializationInfo, WrapSerializer, model_validator

from dml import discovery
from dml.types import Choice, LogUniform, Space, StatedSpace, Uniform

SECTION = ConfigDict(extra="forbid", strict=False, allow_inf_nan=False)
"""What holds for every section. One that adds checks to a record of `dml.types` is a dataclass."""


NAMES_ONLY: ContextVar[bool] = ContextVar("names_only", default=False)
"""Whether sections are read for their keys, types and names only, which imports no part and so not torch."""


def check_metrics(names: Iterable[str]) -> None:
    """Raise a ValueError for a metric of which there is no part, without importing parts. `map@r` is `map_at_r`."""
    package = "dml.evaluation.metrics"
    parts = discovery.names(package)
    for name in names:
        stem, _, argument = name.replace("+", "_plus").partition("@")
        if (f"{stem}_at_{argument}" if argument and not argument.isdecimal() else stem) not in parts:
            takes_k = {part: bool(discovery.states(package, part, r"\(_AtK\)|\bk: int")) for part in parts}
            spelt = [part.replace("_plus", "+").replace("_at_", "@") + "@K" * takes_k[part] for part in parts]
            raise ValueError(f"unknown metric {name!r}{discovery.suggestion(name, spelt)}")


def checked_parts(check_names: Callable[[Any], None]) -> Callable[[Callable[[Any], None]], Any]:
    """A validator of a section that imports parts: with `NAMES_ONLY` only the names of its parts are checked."""

    def decorate(check: Callable[[Any], None]) -> Any:
        def validate(self: Any) -> Any:
            (check_names if NAMES_ONLY.get() else check)(self)
            return self

        return model_validator(mode="after")(validate)

    return decorate


class StudySection(BaseModel):
    """A part of a study: frozen, and without unknown keys."""

    model_config = ConfigDict(frozen=True, **SECTION)


def _space(value: Any) -> Space | StatedSpace:
    kinds = ("uniform", "log_uniform", "choice")
    if isinstance(value, Uniform | LogUniform | Choice | StatedSpace):
        return value
    if value == "own":
        return StatedSpace()
    if value is None:
        raise ValueError("null takes back what the extended study has, and it has nothing here: remove the line")
    if isinstance(value, dict) and len(value) > 1 and set(value) <= set(kinds):
        first, *others = value
        raise ValueError(
            f"expected one space, got {first} and {' and '.join(others)}. Where the first is that of the study that is "
            f"extended, take it back: {{{first}: null, {others[0]}: [...]}}"
        )
    if not isinstance(value, dict) or len(value) != 1 or next(iter(value)) not in kinds:
        raise ValueError(
            f"expected one of {', '.join(kinds)} with its values, as in {{uniform: [0.05, 0.5]}}, or own (the part's)"
        )
    (kind, values), *_ = value.items()
    if not isinstance(values, list) or not values:
        raise ValueError(f"{kind}: expected a list, got {values!r}")
    if kind == "choice":
        return Choice(tuple(values))
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(values) != 2 or len(numbers) != 2 or not numbers[0] < numbers[1]:
        raise ValueError(f"{kind}: expected [low, high] with low < high, got {values!r}")
    if kind == "log_uniform" and numbers[0] <= 0:
        raise ValueError(f"log_uniform: expected low above 0, got {numbers[0]!r}")
    low, high = map(float, numbers)
    return LogUniform(low, high) if kind == "log_uniform" else Uniform(low, high)


def _spelt(value: Any, default: Any, info: SerializationInfo) -> Any:
    """A space as a study spells it, if that is asked for. Digests of studies are made without."""
    match value if info.context == SPELT else None:
        case Uniform(low, high):
            return {"uniform": [low, high]}
        case LogUniform(low, high):
            return {"log_uniform": [low, high]}
        case Choice(options):
            return {"choice": list(options)}
        case StatedSpace():
            return "own"
    return default(value)


SPELT = {"spaces": "spelt"}  # the context of a dump
SpaceTerm = Annotated[Any, BeforeValidator(_space), WrapSerializer(_spelt)]
"""`{uniform: [0.05, 0.5]}`, `{log_uniform: [low, high]}`, `{choice: [a, b]}`, or `own`: what the part itself states."""

Seed = Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)]
Level = Literal["fine", "coarse"]
EvaluatedLevel = Literal["fine", "coarse", "given"]


def as_mapping(key: str, accepted: Any) -> BeforeValidator:
    """A bare string means `{key: string}`; `accepted` is what the JSON Schema says of both."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value, accepted)


def extremes(space: Space) -> tuple[Any, ...]:
    """The two ends of a range, or all options of a choice."""
    return space.options if isinstance(space, Choice) else (space.low, space.high)
