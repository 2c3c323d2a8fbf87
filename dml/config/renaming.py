"""From the names of a study's file to those of the code (`dml.config.names`), before anything else looks at them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dml.config.errors import LocatedError
from dml.config.names import PARTS, SETTINGS, SHORT, is_settings, setting, written_setting
from dml.discovery import suggestion

OF_A_PART = ("name", "settings")


def renamed(content: Mapping[str, Any], of_file: bool = False) -> dict[str, Any]:
    """A study's content with the names of the code; it may have them already, unless it is `of_file`.

    Raises
    ------
    LocatedError : a part has keys besides `name` and `settings`, or a file has a name of the code.
    """
    found = dict(content)
    for name in PARTS:
        if isinstance(found.get(name), Mapping):
            found[name] = _section(name, found[name], of_file)
    return {key: _dotted_in(value, (key,), of_file) for key, value in found.items()}


def _section(section: str, given: Mapping[str, Any], of_file: bool) -> dict[str, Any]:
    """The settings of one section with the names of the code."""
    found: dict[str, Any] = {}
    for key, value in given.items():
        if key in PARTS[section] and isinstance(value, Mapping):
            for inner, of_part in value.items():
                if inner not in OF_A_PART:
                    raise LocatedError(f"unknown key{suggestion(str(inner), OF_A_PART)}", section, key, str(inner))
                found[key if inner == "name" else f"{key}{SETTINGS}"] = of_part
            continue
        if of_file and is_settings(section, key):
            whole = key.removesuffix(SETTINGS)
            raise LocatedError(f"unknown key {key!r}; did you mean '{whole}: {{name, settings}}'?", section, key)
        found[key] = value
    return _whole(found, section) if section == "training" else found


def _whole(given: Mapping[str, Any], *location: str) -> dict[str, Any]:
    """The settings of `training`, and its searched ones, with short names replaced."""
    found = {}
    for key, value in given.items():
        name = SHORT.get(key, key)
        if name != key and name in given:
            raise LocatedError(f"two values for one setting: {key!r} is short for {name!r}", *location, key)
        searched = key == "search" and len(location) == 1 and isinstance(value, Mapping)
        found[name] = _whole(value, *location, key) if searched else value
    return found


def _dotted_in(value: Any, location: tuple[str | int, ...], of_file: bool) -> Any:
    """A value with the names of the code for all dotted settings in it: axes, and attributes of cells."""
    if isinstance(value, list):
        return [_dotted_in(inner, (*location, place), of_file) for place, inner in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    found = {}
    for key, inner in value.items():
        below = (*location, key)
        if location[0] == "compare" and key == "each" and isinstance(inner, list):
            inner = [_setting(name, below, of_file) for name in inner]
        name = _setting(key, below, of_file)
        if name in found or (name != key and name in value):
            raise LocatedError(f"two values for one setting: {key!r} is short for {name!r}", *location, key)
        found[name] = _dotted_in(inner, below, of_file)
    return found


def _setting(key: Any, location: tuple[str | int, ...], of_file: bool) -> Any:
    """What cells call a dotted setting; anything else as it is."""
    if not isinstance(key, str):
        return key
    if of_file and (now := written_setting(key)) != key:
        raise LocatedError(f"unknown setting {key!r}; did you mean {now!r}?", *location)
    return setting(key)
