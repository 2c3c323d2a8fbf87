"""Why a study's trials run (again): what differs from the most similar trial in the store.

dml why quickstart
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from dml.config import Study
from dml.counting import counted
from dml.sweep.plan import keys
from dml.sweep.plan.cells import Job
from dml.sweep.plan.plan import Plan
from dml.sweep.plan.specs import Describe, EstimateRate, FindInitFrom
from dml.sweep.store.trials import TrialStore

BEGUN = "was begun by a run that did not finish it, and resumes from its checkpoint if it saved one"
NONE = "the store has no earlier trial"


def explain(
    study: Study,
    store: TrialStore,
    describe: Describe,
    find_init_from: FindInitFrom | None = None,
    rates: EstimateRate | None = None,
) -> list[str]:
    """Lines of text: the trials of a study that would run next, those with the same reason together.

    Later rounds of a search, and confirmations, depend on results that do not exist yet; they are not included.
    The parameters are those of `Plan`.
    """
    plan = Plan(study, store, describe, find_init_from, rates)
    plan.start(lambda *_: None)
    records = {key: (_flat(content), ended) for key, content, ended in store.records()}
    ended = {key: frozenset(fields.items()) for key, (fields, is_ended) in records.items() if is_ended}
    jobs: dict[tuple[str, ...], list[Job]] = defaultdict(list)
    while (job := plan.take()) is not None:
        fields = _flat(json.loads(keys.canonical(keys.record(job.spec))))  # through JSON, as the stored ones went
        items = frozenset(fields.items())
        nearest = min(ended, key=lambda key: (len(ended[key] ^ items), key), default=None)
        if job.key in records:
            reason: tuple[str, ...] = (BEGUN,)
        else:
            reason = (NONE,) if nearest is None else tuple(_differences(records[nearest][0], fields))
        jobs[reason].append(job)
    if not jobs:
        return [f"{study.name}: every trial that can be planned now is in the store; nothing runs again"]
    text = []
    for lines, group in sorted(jobs.items(), key=lambda item: -len(item[1])):
        cells = counted(len({job.cell.name for job in group}), "cell")
        text.append(f"{counted(len(group), 'trial')} of {cells}, such as {group[0].cell.name}:")
        text += [f"  {line}" for line in lines]
    return text


def _differences(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """`field: before -> now`. A setting that is missing has its default; a missing version is of a part not run."""
    for field in sorted({*before, *now}):
        missing = "default" if field.startswith("spec.") else "absent"
        if before.get(field) != now.get(field):
            yield f"{field}: {before.get(field, missing)} -> {now.get(field, missing)}"


def _flat(content: Any, prefix: str = "") -> dict[str, str]:
    """Nested mappings as one mapping of dotted fields, such as `spec.training.steps`, to values in JSON."""
    if not isinstance(content, Mapping):
        return {prefix: json.dumps(content)}
    flat: dict[str, str] = {}
    for key, value in content.items():
        flat |= _flat(value, f"{prefix}.{key}".lstrip("."))
    return flat
