"""Check that parts of other packages have the members of their protocol."""

from __future__ import annotations

from typing import Any

SPECIAL = ("__call__", "__iter__", "__next__")


def members(protocol: type) -> tuple[str, ...]:
    """The names that a protocol declares, sorted."""
    defined = {name for name in vars(protocol) if not name.startswith("_") or name in SPECIAL}
    return tuple(sorted(defined | set(protocol.__annotations__)))


def check_class(part: type, protocol: type, label: str) -> None:
    """Raise a ValueError that lists the class attributes and methods that `part` lacks.

    Properties of the protocol may be set by the constructor: `check_object` checks them.
    """
    wanted = {*_class_members(protocol), *(name for name in members(protocol) if callable(vars(protocol).get(name)))}
    _check(part, wanted, protocol, label)


def check_object(part: Any, protocol: type, label: str) -> None:
    """Raise a ValueError that lists the members that `part` lacks."""
    _check(part, {*members(protocol)}, protocol, label)


def _class_members(protocol: type) -> set[str]:
    return {name for name, kind in protocol.__annotations__.items() if "ClassVar" in str(kind)}


def _check(part: Any, wanted: set[str], protocol: type, label: str) -> None:
    if missing := sorted(name for name in wanted if not hasattr(part, name)):
        raise ValueError(f"{label} lacks {', '.join(missing)}, which dml.protocols.{protocol.__name__} requires")
