"""How a study's file calls its settings, and how the code does.

In a file, every part is a name or `{name, settings}`. A dotted setting names the part, not the key `settings`, as
`loss.margin` always has: `training.backbone.width`. Records that enter a trial's key, names of cells and tables of
results keep the names that they had first (`training.backbone_settings.width`), so that no trial runs again.
`dml.config.renaming` reads one as the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

KEYS: dict[str, dict[str, str]] = {
    "datasets": {"name": "source", "id": "name", "settings": "options"},
    "noise": {"name": "model", "id": "name"},
    "training": {"init_from": "start"},
    "audit": {"review_size": "looks"},
}
"""By section: the keys of a file whose settings the code calls otherwise, and those names."""
EARLIER: dict[str, dict[str, str]] = {"": {"vary": "grid", "published": "reference_values"}}
"""By section: keys that a file may have from earlier, and what the code calls those settings now."""
PARTS = {"training": ("backbone", "augment"), "audit": ("backbone",)}
"""By section: settings that are `{name, settings}` in a file; in the code, `backbone` and `backbone_settings`."""
SETTINGS = "_settings"
_ROOM = "training"


def setting(key: str) -> str:
    """What the code calls a dotted setting of a file: `training.backbone_settings.width`. Its own names stay."""
    room, _, rest = key.partition(".")
    name, _, inner = rest.partition(".")
    if room != _ROOM or not name:
        return key
    if inner and name in PARTS[_ROOM]:
        return f"{room}.{name}{SETTINGS}" + ("" if inner == "settings" else f".{inner}")
    return _dotted(room, KEYS[_ROOM].get(name, name), inner)


def written_setting(key: str) -> str:
    """How a file writes a dotted setting of the code: `training.backbone.width`."""
    room, _, rest = key.partition(".")
    name, _, inner = rest.partition(".")
    if room != _ROOM or not name:
        return key
    if is_settings(_ROOM, name):
        return _dotted(room, name.removesuffix(SETTINGS), inner or "settings")
    return _dotted(room, written_key(_ROOM, name), inner)


def is_settings(section: str, name: str) -> bool:
    """Whether a setting of a section has the settings of a part: `backbone_settings`."""
    return name.endswith(SETTINGS) and name.removesuffix(SETTINGS) in PARTS.get(section, ())


def written_key(section: str, name: str) -> str:
    """How a file writes a setting of a section (of the whole study: an empty name): `grid`."""
    return next((key for key, own in KEYS.get(section, {}).items() if own == name), name)


def written_keys(section: str, names: Iterable[str]) -> list[str]:
    """How a file writes some settings of a section; those of a part are inside it."""
    return [written_key(section, name) for name in names if not is_settings(section, name)]


def first_names(content: Mapping[str, Any]) -> dict[str, Any]:
    """A study's content with the names that its settings had first, which digests of studies contain."""
    first = {now: name for name, now in EARLIER[""].items()}
    return {first.get(name, name): value for name, value in content.items()}


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
            found.append(written_setting(part) if section is None or "." in part else written_key(section, part))
        section = part if section == "" else None
    return found


def spellings(location: Sequence[str | int]) -> list[tuple[str | int, ...]]:
    """All ways in which a file may write a location of the code: today's names first, then earlier ones."""
    found: dict[tuple[str | int, ...], None] = {}
    for names in (written(location), location):
        section: str | None = ""
        choices = []
        for part in names:
            earlier = [] if section is None else [own for own, now in EARLIER.get(section, {}).items() if now == part]
            choices.append([part, *earlier])
            if isinstance(part, str):
                section = part if section == "" else None
        found |= dict.fromkeys(itertools.product(*choices))
    return list(found)


def _dotted(*parts: str) -> str:
    return ".".join(filter(None, parts))
