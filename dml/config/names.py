"""How a study's file calls its settings, where the code or earlier versions call them otherwise.

In a file, every part is a name or `{name, settings}`; the sections `training` and `audit` have `backbone` and
`backbone_settings`. A dotted setting names the part, not the key `settings`, as `loss.margin` always has:
`training.backbone.width`. Records that enter a trial's key, names of cells and tables of results keep the dotted names
that they had first (`training.backbone_settings.width`, `training.start`), so that no trial runs again.
`dml.config.renaming` reads one as the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

EARLIER: dict[str, dict[str, str]] = {
    "": {"vary": "grid", "published": "reference_values"},
    "datasets": {"source": "name", "name": "id", "options": "settings"},
    "noise": {"model": "name", "name": "id"},
    "training": {"start": "init_from"},
    "audit": {"looks": "review_size"},
}
"""By section: keys that a file may have from earlier, and today's. An earlier `name` is one only beside the key that is
`name` now."""
FIRST = {section: {now: name for name, now in keys.items()} for section, keys in EARLIER.items()}
"""By section: the names that settings had first."""
LISTS = ("datasets", "noise")  # sections that are lists
PARTS = {"training": ("backbone", "augment"), "audit": ("backbone",)}
"""By section: settings that are `{name, settings}` in a file; in the code, `backbone` and `backbone_settings`."""
SETTINGS = "_settings"
_ROOM = "training"


def setting(key: str) -> str:
    """What cells call a dotted setting of a file: `training.backbone_settings.width`. Such a name stays."""
    room, _, rest = key.partition(".")
    name, _, inner = rest.partition(".")
    if room != _ROOM or not name:
        return key
    if inner and name in PARTS[_ROOM]:
        return f"{room}.{name}{SETTINGS}" + ("" if inner == "settings" else f".{inner}")
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
    """What a section of the code calls a setting that a cell may call by its first name."""
    return EARLIER.get(section, {}).get(name, name)


def is_settings(section: str, name: str) -> bool:
    """Whether a setting of a section has the settings of a part: `backbone_settings`."""
    return name.endswith(SETTINGS) and name.removesuffix(SETTINGS) in PARTS.get(section, ())


def without_settings(section: str, names: Iterable[str]) -> list[str]:
    """The keys of a section of a file: settings of a part are inside it."""
    return [name for name in names if not is_settings(section, name)]


def first_names(content: Mapping[str, Any]) -> dict[str, Any]:
    """A study's content with the names that its settings had first, as digests and files for DVC have it."""
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


def spellings(location: Sequence[str | int]) -> list[tuple[str | int, ...]]:
    """All ways in which a file may write a location of the code: today's names first, then earlier ones."""
    found: dict[tuple[str | int, ...], None] = {}
    for names in (written(location), location):
        section: str | None = ""
        choices = []
        for part in names:
            first = FIRST.get(section or "", {}).get(str(part)) if section is not None else None
            choices.append([part] if first is None else [part, first])
            if isinstance(part, str):
                section = part if section == "" else None
        found |= dict.fromkeys(itertools.product(*choices))
    return list(found)


def _dotted(*parts: str) -> str:
    return ".".join(filter(None, parts))
