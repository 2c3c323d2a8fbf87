"""Why trials run again: the fields that differ from the most similar trial in the store."""

import toy

from dml.sweep.plan import keys
from dml.sweep.plan.plan import Plan
from dml.sweep.store.trials import FINISHED, Outcome, TrialStore
from dml.sweep.why import explain


def run_all(study, store, rates=None):
    """Finish every trial of a study without training."""

    plan = Plan(study, store, toy.describe, rates=rates)
    plan.start(lambda job, outcome, reused: None)
    while (job := plan.take()) is not None:
        scores = {"validation/fine/recall@1": 0.5, "test/fine/recall@1": 0.5}
        store.begin(job.key, keys.canonical(keys.record(job.spec)))
        outcome = Outcome(FINISHED, scores, [[10, scores]])
        store.write(job.key, outcome)
        plan.end(job.id, outcome)
    return plan


def test_a_changed_setting_is_named_with_both_values(toy_study, tmp_path):
    run_all(toy_study(), TrialStore(tmp_path))
    study = toy_study(training={"steps": 10, "learning_rate": 0.01})
    assert explain(study, TrialStore(tmp_path), toy.describe)[1:] == ["  spec.training.learning_rate: default -> 0.01"]


def test_a_raised_version_is_named_for_the_trials_that_run_the_part(toy_study, tmp_path, monkeypatch):
    from dml.losses.triplet import Triplet

    run_all(toy_study(), TrialStore(tmp_path))
    monkeypatch.setattr(Triplet, "version", 2)
    first, *rest = explain(toy_study(), TrialStore(tmp_path), toy.describe)
    assert "|triplet|" in first
    assert rest == ["  versions.losses.triplet: 1 -> 2"]
