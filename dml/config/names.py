"""Two names of one setting: in a study's file, and in the code.

In a file, every part is a name or `{name, settings}`; the sections `training` and `audit` have `backbone` and
`backbone_settings`. A dotted setting of a file names the part, as `training.backbone.width`; cells call it
`training.backbone_settings.width`. Keys, digests and cells have the names of the first studies (`FIRST`), so that no
trial runs again. `dml.config.renaming` turns a file's names into the code's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

FIRST: dict[str, dict[str, str]] = {
    "": {"grid": "vary", "reference_values": "published"},
    "datasets": {"name": "source", "id": "name", "settings": "options"},
    "noise": {"name": "model", "id": "name"},
    "training": {"init_from": "start"},
    "audit": {"review_size": "looks"},
}
"""By section: what digests call settings. Cells have those of training too."""
LISTS = ("datasets", "noise")  # sections that are lists
PARTS = {"training": ("backbone", "augment"), "audit": ("backbone",)}
"""By section: settings that are `{name, settings}` in a file; in the code, `backbone` and `backbone_settings`."""
SHORT = {"refit": "head_refit"}
"""Of `training`: what a file may call settings instead."""
SETTINGS = "_settings"
_ROOM = "training"
_WRITTEN = {first: name for name, first in FIRST[_ROOM].items()}


def setting(key: str) -> str:
    """What cells call a dotted setting of a file: `training.backbone_settings.width`."""
    room, _, rest = key.partition(".")
    name, _, inner = rest.partition(".")
    if room != _ROOM or not name:
        return key
    if inner and name in PARTS[_ROOM]:
        return f"{room}.{name}{SETTINGS}" + ("" if inner == "settings" else f".{inner}")
    name = SHORT.get(name, name)
    return _dotted(room, FIRST[_ROOM].get(name, name), inner)


def written_setting(key: str) -> str:
    """How a file writes a dotted setting of a cell: `training.backbone.width`."""
    room, _, rest = key.partition(".")
    name, _, inner = rest.partition(".")
    if room != _ROOM or not name:
        return key
    if is_settings(_ROOM, name):
        return _dotted(room, name.removesuffix(SETTINGS), inner or "settings")
    return _dotted(room, own_key(_ROOM, name), inner)


def own_key(section: str, name: str) -> str:
    """What a section of the code calls a setting of a cell."""
    return _WRITTEN.get(name, name) if section == _ROOM else name


def is_settings(section: str, name: str) -> bool:
    """Whether a setting of a section has the settings of a part: `backbone_settings`."""
    return name.endswith(SETTINGS) and name.removesuffix(SETTINGS) in PARTS.get(section, ())


def without_settings(section: str, names: Iterable[str]) -> list[str]:
    """The keys of a section of a file: settings of a part are inside it."""
    return [name for name in names if not is_settings(section, name)]


def first_names(content: Mapping[str, Any]) -> dict[str, Any]:
    """A study's content with the names that digests have."""
    found = {}
    for section, value in content.items():
        if section in LISTS and isinstance(value, list):
            value = [_first_names(section, item) for item in value]
        elif section not in LISTS:
            value = _first_names(section, value)
        found[FIRST[""].get(section, section)] = value
    return found


def _first_names(section: str, value: Any) -> Any:
    if section not in FIRST or not isinstance(value, Mapping):
        return value
    return {FIRST[section].get(name, name): inner for name, inner in value.items()}


def written(location: Iterable[str | int]) -> list[str | int]:
    """Where a file has a setting, by keys and positions of lists, whose location has the names of the code."""
    found: list[str | int] = []
    section: str | None = ""
    for part in location:
        if isinstance(part, int):
            found.append(part)
            continue
        if section is not None and is_settings(section, part):
            found += [part.removesuffix(SETTINGS), "settings"]
        else:
            found.append(written_setting(part))
        section = part if section == "" else None
    return found


def shortened(location: Iterable[str | int]) -> list[str | int]:
    """Where a file has a setting that it calls by its short name."""
    whole = {f"{before}{name}": f"{before}{short}" for short, name in SHORT.items() for before in ("", f"{_ROOM}.")}
    return [whole.get(str(part), part) for part in location]


def _dotted(*parts: str) -> str:
    return ".".join(filter(None, parts))
