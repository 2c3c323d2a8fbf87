"""The study as it ran, which is kept with its results: they say what they are when its file has changed since.

A table of trials has it in its `attrs`, which pandas writes into Parquet files. All settings that decide trials are
there, defaults too. The title, description, comparisons, reference values and report are always those of today's file.
"""

from __future__ import annotations

import json

from dml.config.renaming import renamed
from dml.config.study import DECIDING, Study
from dml.config.terms import SPELT

ATTRIBUTE = "study"  # of a table of trials
KEPT = {*DECIDING, "recipe"}


def record(study: Study) -> str:
    """What decides a study's trials, as JSON that `recorded` reads."""
    return json.dumps(study.model_dump(mode="json", include=KEPT, context=SPELT), separators=(",", ":"))


def recorded(text: str, today: Study) -> Study:
    """The study that `record` has written, with what today's file only says about it.

    Raises
    ------
    ValueError : the text is not JSON, or a setting or a part does not exist any more.
    """
    ran = json.loads(text)
    if not isinstance(ran, dict):
        raise ValueError(f"expected a mapping of settings, got {type(ran).__name__}")
    about = {name: getattr(today, name) for name in Study.model_fields if name not in KEPT}
    return Study(**{**about, **{name: value for name, value in renamed(ran).items() if name in KEPT}})
