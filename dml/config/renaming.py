"""From the names of a study's file to those of the code (`dml.config.names`), before anything else looks at them.

A file may have earlier names, each of which is noted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dml.config.errors import LocatedError
from dml.config.names import EARLIER, LISTS, PARTS, SETTINGS, is_settings, setting, written_setting
from dml.discovery import suggestion

Location = tuple[str | int, ...]
Note = Callable[[Location, str, str], object]
OF_A_PART = ("name", "settings")


def earlier(content: Mapping[str, Any]) -> list[tuple[Location, str, str]]:
    """Each earlier name in a study's content: where it is, the name, and how it is written now. Raises as `renamed`."""
    found: list[tuple[Location, str, str]] = []
    renamed(content, lambda *note: found.append(note))
    return found


def renamed(content: Mapping[str, Any], note: Note = lambda *_: None) -> dict[str, Any]:
    """A study's content with the names of the code; it may have them already.

    Parameters
    ----------
    note : called with what `earlier` returns of each earlier name.

    Raises
    ------
    LocatedError : a setting is given by two of its names, or a part has keys besides `name` and `settings`.
    """
    found = _section("", content, (), note)
    for name in ("training", "audit"):
        if isinstance(found.get(name), Mapping):
            found[name] = _section(name, found[name], (name,), note)
    for name in LISTS:
        if isinstance(found.get(name), list):
            found[name] = [
                _section(name, item, (name, place), note) if isinstance(item, Mapping) else item
                for place, item in enumerate(found[name])
            ]
    return {key: _dotted_in(value, (key,), note) for key, value in found.items()}


def _section(section: str, given: Mapping[str, Any], location: Location, note: Note) -> dict[str, Any]:
    """The settings of one section with the names of the code."""
    names, parts = dict(EARLIER.get(section, {})), PARTS.get(section, ())
    if not any(names[key] == "name" for key in names.keys() & given.keys()):
        names.pop("name", None)  # it is today's
    found = _Settings(location)
    for key, value in given.items():
        if key in parts and isinstance(value, Mapping):
            for inner, of_part in value.items():
                if inner not in OF_A_PART:
                    raise LocatedError(f"unknown key{suggestion(str(inner), OF_A_PART)}", *location, key, str(inner))
                found.add(key if inner == "name" else f"{key}{SETTINGS}", of_part, f"{key}.{inner}")
            continue
        own = now = names.get(key, key)
        found.add(own, value, key)
        if is_settings(section, own):
            now = f"{own.removesuffix(SETTINGS)}: {{name, settings}}"
        if now != key:
            note((*location, key), _dotted(section, key), _dotted(section, now))
    return found.values


def _dotted_in(value: Any, location: Location, note: Note) -> Any:
    """A value with the names of the code for all dotted settings in it: axes, and attributes of cells."""
    if isinstance(value, list):
        return [_dotted_in(inner, (*location, place), note) for place, inner in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    found = _Settings(location)
    for key, inner in value.items():
        own, below = _setting(key, (*location, key), note), (*location, key)
        if location[0] == "compare" and key == "each" and isinstance(inner, list):
            inner = [_setting(name, below, note) for name in inner]
        found.add(own, _dotted_in(inner, below, note), key)
    return found.values


def _setting(key: Any, location: Location, note: Note) -> Any:
    """What cells call a dotted setting; anything else as it is."""
    if not isinstance(key, str):
        return key
    if (now := written_setting(key)) != key:
        note(location, key, now)
    return setting(key)


def _dotted(section: str, key: str) -> str:
    return f"{section}.{key}" if section else key


class _Settings:
    """Settings by the names of the code, of which none is given twice."""

    def __init__(self, location: Location):
        self.values: dict[Any, Any] = {}
        self._location = location
        self._keys: dict[Any, Any] = {}

    def add(self, own: Any, value: Any, key: Any) -> None:
        """Add a setting that a file calls `key`."""
        if own in self.values:
            both = f"`{self._keys[own]}` and `{key}` are two names of the same setting"
            raise LocatedError(f"{both}: remove the earlier one", *self._location, own)
        self.values[own], self._keys[own] = value, key
