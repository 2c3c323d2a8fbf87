"""The sentences of the report: those of a module are in the YAML file of its name beside it.

    say = Texts(__file__)
    say("best_sets", over="seeds")

`best_sets` is a text of the file with the placeholder `{over}`. Texts are whole sentences; whether one is said, and
what is filled in, is the module's to decide. Headings, labels and what is no sentence stay in the module.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import yaml


class Texts:
    """The texts of one module."""

    def __init__(self, module: str) -> None:
        self.file = Path(module).with_suffix(".yaml")

    @cached_property
    def named(self) -> dict[str, str]:
        """All texts with their placeholders, by name."""
        return yaml.safe_load(self.file.read_text(encoding="utf-8"))

    def __call__(self, name: str, /, **values: object) -> str:
        """A text with its placeholders filled.

        Raises
        ------
        KeyError : a name that the file does not have, or a placeholder without a value.
        """
        return self.named[name].format(**values)


def joined(*sentences: str) -> str:
    """Sentences one after the other; empty ones are left out."""
    return " ".join(filter(None, sentences))
