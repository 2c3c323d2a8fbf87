"""What no study refers to: listed with size, age and reason, and never anything that one refers to."""

import json

import pandas as pd
import pytest
from driver import BASE
from simulated import running, simulate

from dml.config import load_study
from dml.data import sources
from dml.data.packing import packed_id
from dml.files import write_text
from dml.snapshots import publishing
from dml.sweep.disk import remove, unreferenced
from dml.sweep.progress.results import trials_frame
from dml.sweep.retention import delete_dropped

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path):
    """A project with a study that ran."""
    study(tmp_path, "toys")
    return tmp_path


def study(root, name, **changes):
    content = {key: value for key, value in BASE.items() if key != "name"} | changes
    write_text(root / "pipelines/studies" / f"{name}.yaml", json.dumps(content))
    return load_study(root / "pipelines/studies" / f"{name}.yaml")


def sweep(root, study, tidy=True, **how):
    """A sweep, and what it writes at its end."""
    plan = simulate(study, root, **how)
    frame = trials_frame(study, plan)
    (root / "results" / study.name).mkdir(parents=True, exist_ok=True)
    frame.to_parquet(root / "results" / study.name / "trials.parquet")
    write_text(root / "store/sweeps" / f"{study.name}.json", "{}")
    if tidy:
        delete_dropped(plan.store, root / "results", study.name)
    return plan


def keys(plan, loss=None):
    return {job.key for job, _ in plan.ended() if loss in (None, job.cell.loss.name)}


def listed(root):
    """{name: why} of trials."""
    return {entry.path.name: entry.why for entry in unreferenced(root) if entry.path.parent.name == "trials"}


def test_trials_of_a_study_that_changed_or_is_gone_are_listed(project):
    plan = sweep(project, study(project, "toys"))
    assert unreferenced(project) == []

    shrunk = sweep(project, study(project, "toys", losses=["triplet"]))
    assert listed(project) == dict.fromkeys(keys(plan) - keys(shrunk), "a trial that no study refers to")

    (project / "pipelines/studies/toys.yaml").unlink()
    assert listed(project).keys() == keys(plan, "contrastive"), "its results are still there"
    (project / "results/toys/trials.parquet").unlink()
    assert listed(project).keys() == keys(plan)


def test_no_trial_is_listed_while_a_sweep_is_interrupted(project, capsys):
    """Its table may lack the last ones."""
    sweep(project, study(project, "toys"))
    sweep(project, study(project, "toys", losses=["triplet"]))
    assert listed(project)
    own = study(project, "other", losses=["triplet"], seeds=[7, 8])
    plan, live = simulate(own, project, stop=4), project / "store/sweeps/other.live/trials.parquet"
    live.parent.mkdir(parents=True)
    trials_frame(own, plan)[:-1].to_parquet(live)
    assert listed(project) == {}
    assert "sweeps have not ended (dml run other" in capsys.readouterr().err


def test_nothing_of_a_running_sweep_is_listed(project):
    sweep(project, study(project, "toys"))
    (project / "results/toys/trials.parquet").unlink()
    (project / "pipelines/studies/toys.yaml").unlink()
    assert listed(project)
    with running(project):
        assert listed(project) == {}


def test_a_published_study_refers_to_its_trials(project):
    own = study(project, "toys")
    plan = sweep(project, own)
    frame = pd.read_parquet(project / "results/toys/trials.parquet")
    publishing.write_table(publishing.rounded_trials(own, frame), project / "docs/results/toys/trials.parquet")
    (project / "results/toys/trials.parquet").unlink()
    assert listed(project) == {}
    (project / "pipelines/studies/toys.yaml").unlink()
    assert listed(project).keys() == keys(plan)


def test_a_trial_that_runs_is_neither_listed_nor_removed(project):
    plan = sweep(project, study(project, "toys"))
    (project / "pipelines/studies/toys.yaml").unlink()
    (project / "results/toys/trials.parquet").unlink()
    before = unreferenced(project)
    key = min(keys(plan))
    with running(project, key):
        assert listed(project).keys() == keys(plan) - {key}
        remove(before)
        assert [path.name for path in (project / "store/trials").glob("*")] == [key]


def test_files_of_a_person_in_the_store_are_not_listed(project):
    sweep(project, study(project, "toys"))
    for name in ("trials/notes/thesis.tex", "packed/birds/1.jpg", "sweeps/notes.txt", "sweeps/plan.d/1.txt"):
        write_text(project / "store" / name, "mine")
    assert unreferenced(project) == []


def test_what_is_removed_is_gone_and_nothing_else(project):
    kept = sweep(project, study(project, "kept", losses=["margin"]))
    sweep(project, study(project, "toys"), tidy=False)
    (project / "pipelines/studies/toys.yaml").unlink()
    (project / "results/toys/trials.parquet").unlink()
    entries = unreferenced(project)
    assert remove(entries) == sum(entry.bytes for entry in entries) > 0
    assert remove(entries) == 0, "a second time"
    assert {path.name for path in (project / "store/trials").glob("*")} == keys(kept)
    assert unreferenced(project) == []


def test_a_removal_that_was_killed_is_listed(project):
    write_text(project / "store/trials/.removing-abc-1/model/model.json", "{}")
    (entry,) = unreferenced(project)
    assert (entry.path.name, entry.why) == (".removing-abc-1", "left by a removal that was interrupted")
    assert remove([entry]) == entry.bytes


def test_packed_data_that_no_study_names(project):
    needed = packed_id(sources.build("digits"))
    other = packed_id(sources.build("digits"), resize=16)
    for name in (needed, other, ".new-1"):
        write_text(project / "store/packed" / name / "manifest.json", "{}")
    assert [entry.path.name for entry in unreferenced(project)] == [other]
    study(project, "resized", datasets=[{"name": "digits", "resize": 16}])
    assert unreferenced(project) == []
    (project / "pipelines/studies/resized.yaml").write_text("datasets: [{name: no such, resise: 1}]")
    study(project, "toys", datasets=["mnist"])
    assert unreferenced(project) == [], "nobody knows what the broken study needs"


def test_features_that_no_study_names(project):
    for name in ("used", "unused", ".partial"):
        write_text(project / "store/features" / name / "features.npy", "x")
    write_text(
        project / "data/toys/features.json", json.dumps({"digits": {"a": {"folder": "../../store/features/used"}}})
    )
    assert [entry.path.name for entry in unreferenced(project)] == ["unused"]
    path = project / "pipelines/studies/frozen.yaml"
    path.write_text("extends: toys\ntraining: {frozen: true}")
    assert unreferenced(project) == [], "its features are not known"
    path.write_text("extends: toys\ntraining: {train_from: layers.3}")
    assert unreferenced(project) == [], "its activations are not known"


def test_folds_of_audits_stay_as_long_as_their_study(project):
    for name in ("toys", "gone"):
        write_text(project / f"store/audits/{name}/digest/l2.json", "{}")
        write_text(project / f"store/audits/{name}.lock", "")
    (entry,) = unreferenced(project)
    assert (entry.path.name, entry.why) == ("gone", "of the audit of gone, which is gone")
