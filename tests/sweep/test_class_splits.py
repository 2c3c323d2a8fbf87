"""Several class splits in the plan: each tunes and confirms by itself, and the first has the keys of a single one."""

from planned import finish, start

from dml.sweep.progress.results import trials_frame
from dml.sweep.store.trials import TrialStore


def test_each_split_has_its_own_search_and_the_first_is_that_of_a_study_without(toy_study, tmp_path):
    store = TrialStore(tmp_path)
    plain, _ = start(toy_study(), store)
    finish(plain)
    study = toy_study(class_splits=3)
    plan, _ = start(study, store)
    assert plan.total == 3 * plain.total
    ran = finish(plan)
    assert {job.split for job in ran} == {1, 2}, "the trials of split 0 are in the store"
    assert {job.spec.dataset.name for job in ran} == {"digits@1", "digits@2"}
    frame, before = trials_frame(study, plan), trials_frame(plain.study, plain)
    assert "split" not in before
    assert list(frame.loc[frame["split"] == 0, "key"]) == list(before["key"])
    assert frame.groupby(["cell", "split"]).size().eq(3 + 2).all()
    assert len({job.id for job, _ in plan.ended()}) == plan.total


def test_class_splits_are_part_of_the_digest(toy_study):
    assert toy_study(class_splits={"folds": 4}).splits == 4
    assert toy_study(class_splits=2).digest != toy_study().digest == toy_study(class_splits=1).digest
