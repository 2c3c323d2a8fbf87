"""Why a study's trials run (again): what differs from the most similar trial in the store.

dml why quickstart
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from dml.config import Study
from dml.counting import counted
from dml.sweep.plan import keys
from dml.sweep.plan.cells import Job
from dml.sweep.plan.plan import Plan
from dml.sweep.plan.specs import Describe, EstimateRate, FindInitFrom
from dml.sweep.store.trials import TrialStore

DEFAULT = "default"
ABSENT = "absent"


class Difference(NamedTuple):
    """A field of `spec.json` in which two trials differ."""

    field: str  # such as `spec.training.steps` or `versions.losses.triplet`
    before: str
    now: str

    def __str__(self) -> str:
        return f"{self.field}: {self.before} -> {self.now}"


class Reason(NamedTuple):
    """Why a trial runs."""

    job: Job
    begun: bool  # an earlier run began it: it resumes from its checkpoint if it saved one
    nearest: str | None  # key of the most similar trial in the store; None: the store has none
    differences: tuple[Difference, ...]


def reasons(
    study: Study,
    store: TrialStore,
    describe: Describe,
    find_init_from: FindInitFrom | None = None,
    rates: EstimateRate | None = None,
) -> list[Reason]:
    """The trials of a study that would run next, and why. Takes what `Plan` takes.

    Later rounds of a search, and confirmations, depend on results that do not exist yet; they are not included.
    """
    plan = Plan(study, store, describe, find_init_from, rates)
    plan.start(lambda job, outcome, reused: None)
    records = {key: (_flat(content), ended) for key, content, ended in store.records()}
    ended = {key: frozenset(flat.items()) for key, (flat, is_ended) in records.items() if is_ended}
    found = []
    while (job := plan.take()) is not None:
        # Through JSON, as the stored ones went.
        now = _flat(json.loads(keys.canonical(keys.record(job.spec))))
        items = frozenset(now.items())
        nearest = min(ended, key=lambda key: (len(ended[key] ^ items), key), default=None)
        differences = () if nearest is None else tuple(_differences(records[nearest][0], now))
        found.append(Reason(job, job.key in records, nearest, differences))
    return found


def explain(
    study: Study,
    store: TrialStore,
    describe: Describe,
    find_init_from: FindInitFrom | None = None,
    rates: EstimateRate | None = None,
) -> list[str]:
    """The reasons as lines of text, trials with the same reason together."""
    groups: dict[tuple[str, ...], list[Reason]] = defaultdict(list)
    for reason in reasons(study, store, describe, find_init_from, rates):
        groups[_lines(reason)].append(reason)
    if not groups:
        return [f"{study.name}: every trial that can be planned now is in the store; nothing runs again"]
    text = []
    for lines, group in sorted(groups.items(), key=lambda item: -len(item[1])):
        cells = {reason.job.cell.name for reason in group}
        example = group[0].job
        text.append(f"{counted(len(group), 'trial')} of {counted(len(cells), 'cell')}, such as {example.cell.name}:")
        text += [f"  {line}" for line in lines]
    return text


def _lines(reason: Reason) -> tuple[str, ...]:
    if reason.begun:
        return ("was begun by a run that did not finish it, and resumes from its checkpoint if it saved one",)
    if reason.nearest is None:
        return ("the store has no earlier trial",)
    return tuple(map(str, reason.differences))


def _differences(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[Difference]:
    for field in sorted({*before, *now}):
        # A setting that is missing has its default value; a missing version is that of a part that does not run.
        missing = DEFAULT if field.startswith("spec.") else ABSENT
        if before.get(field) != now.get(field):
            yield Difference(field, before.get(field, missing), now.get(field, missing))


def _flat(content: Any, prefix: str = "") -> dict[str, str]:
    """Nested mappings as one mapping of dotted fields to values in JSON."""
    if isinstance(content, Mapping) and content:
        flat: dict[str, str] = {}
        for key, value in content.items():
            flat |= _flat(value, f"{prefix}.{key}" if prefix else str(key))
        return flat
    return {} if isinstance(content, Mapping) else {prefix: json.dumps(content)}
