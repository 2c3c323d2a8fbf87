"""How large the project is, and which settings its own studies use.

    python benchmarks/size.py             figures of the repository
    python benchmarks/size.py --settings  which settings no study and no recipe sets

A setting is a row of docs/settings.md without a table of its own. It is used if a study sets it, in its file or in
those that it extends, or a recipe does. Modules are those of `dml` that one more process imports.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dml.config import content_of, recipes

ROOT = Path(__file__).resolve().parents[1]
REACH = {
    "load_study": "import dml.config.loading",
    "a trial": "import dml.sweep.execution.trial_run, dml.training.loop",
    "a sweep": "import dml.sweep.run",
}
"""What is imported: reading a study, the worker of a trial, the driver of a sweep."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--settings", action="store_true", help="the settings that nothing uses")
    uses = used()
    if parser.parse_args().settings:
        for name in settings():
            print(f"{uses[name]:5d}  {name}")
        return
    for folder in ("dml", "papers", "tests"):
        files = sorted((ROOT / folder).rglob("*.py"))
        print(f"{folder}: {sum(len(file.read_text().splitlines()) for file in files):,} lines in {len(files)} files")
    names = settings()
    print(f"settings: {len(names)}, of which {sum(not uses[name] for name in names)} are set by no study or recipe")
    print(f"studies: {len(list(studies()))}")
    pages = list((ROOT / "docs").rglob("*.md"))
    print(f"docs: {sum(len(page.read_text().split()) for page in pages):,} words in {len(pages)} pages")
    for name, line in REACH.items():
        print(f"modules that {name} imports: {reach(line)}")


def settings() -> list[str]:
    """Every setting, as `section.name`; those of the sections of lists without positions."""
    section, names = "", []
    for line in (ROOT / "docs/settings.md").read_text().splitlines():
        if heading := re.match(r"## `(.+)`", line):
            section = f"{heading[1]}."
        if (row := re.match(r"\| `(\w+)` \| (.*)", line)) and "](#" not in row[2].partition(" | ")[0]:
            names.append(section + row[1])
    return names


def used() -> Counter[str]:
    """How many studies set each setting. A recipe counts as one."""
    names = dict.fromkeys(settings())
    counts: Counter[str] = Counter()
    for study in studies():
        extends = {"extends"} if re.search(r"^extends:", study.read_text(), re.MULTILINE) else set()
        counts.update(extends | set(_set_by(content_of(study), names)))
    for values in (recipes.SEARCHED, *recipes.RECIPES.values(), *recipes.LAYER_NORM.values()):
        counts.update(re.sub("_settings$", "", name) for name in values)
    return counts


def studies() -> Iterator[Path]:
    """The files of studies, templates of the command line included."""
    yield from sorted((ROOT / "pipelines/studies").glob("*.yaml"))


def reach(line: str) -> int:
    """The number of modules of `dml` that a line imports, in a process of its own."""
    code = f"import sys\n{line}\nprint(sum(name.split('.')[0] == 'dml' for name in sys.modules))"
    return int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def _set_by(value: Any, names: Mapping[str, Any], section: str = "") -> Iterator[str]:
    """The settings in the content of a study. Axes of a grid and searched settings count as well."""
    if isinstance(value, list):
        for item in value:
            yield from _set_by({"name": item} if isinstance(item, str) else item, names, section)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            name = f"{section}.{key}".lstrip(".")
            name = re.sub("_settings$", "", name)
            if name in names:
                yield name
            if name in ("grid", "training.search"):
                yield from _axes(inner, names, "" if name == "grid" else "training.")
            yield from _set_by(inner, names, name)


def _axes(value: Any, names: Mapping[str, Any], room: str) -> Iterator[str]:
    """The settings in axes, which may stand inside named ones."""
    for item in value if isinstance(value, list) else [value]:
        for key, inner in item.items() if isinstance(item, Mapping) else ():
            name = re.sub(r"^training\.start", "training.init_from", room + key)
            name = re.sub(r"^(training\.(?:backbone|augment))(_settings)?(\..*)?$", r"\1", name)
            if name in names:
                yield name
            yield from _axes(inner, names, room)
            yield from (name for name in _set_by({key: inner}, names) if "." in name)


if __name__ == "__main__":
    main()
