"""A plan of toys, run without Ray."""

import toy

from dml.sweep.plan.plan import Plan
from dml.sweep.store.trials import FINISHED, Outcome


def score(job):
    margin = job.settings.get("loss.margin", 0.2)
    name = "validation" if job.phase == "tune" else "test"
    return {f"{name}/fine/recall@1": 1 - (margin - 0.3) ** 2}


def start(study, store):
    ended = []
    plan = Plan(study, store, toy.describe)
    plan.start(lambda job, outcome, reused: ended.append((job, outcome, reused)))
    return plan, ended


def outcome_of(job):
    return Outcome(FINISHED, score(job), [[10, score(job)]], seconds=1.0)


def finish(plan, outcome_of=outcome_of, limit=None):
    """Run everything that is ready, one trial at a time; returns what ran."""
    ran = []
    while not plan.finished and len(ran) != limit:
        job = plan.take()
        outcome = outcome_of(job)
        plan.store.write(job.key, outcome)
        ran.append(job)
        plan.end(job.id, outcome)
    return ran
