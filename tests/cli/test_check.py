"""`dml check`: a study's mistakes and its cost."""

import numpy as np
import pytest

pytestmark = pytest.mark.slow


def test_a_valid_study_has_a_cost(dml, project, timed):
    done = dml("check", "tiny")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].startswith("tiny: 2 cells, 4 trials (0 to tune, 4 to confirm)")
    assert "by timing a few steps on random images" in lines[1]
    assert [path.name for path in (project / "store").iterdir()] == ["remembered"]


def test_a_file_that_is_missing_is_named_from_any_folder_of_the_project(dml, project, monkeypatch):
    path = project / "pipelines/studies/tiny.yaml"
    path.write_text(path.read_text() + "noise: [{name: label_file, settings: {path: store/noisy.csv}}]\n")
    monkeypatch.chdir(project / "pipelines")
    done = dml("check", "tiny")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: pipelines/studies/tiny.yaml:11: noise[0].settings.path: 'store/noisy.csv' does")
    (project / "store").mkdir()
    (project / "store/noisy.csv").write_text("index,label\n")
    assert dml("check", "tiny").code == 0


@pytest.mark.parametrize("needed", ["cpus_per_trial: 3", "gpus_per_trial: 999"])
def test_a_trial_that_this_machine_cannot_run_has_a_cost_and_is_an_error(dml, project, programs, monkeypatch, needed):
    monkeypatch.setattr("dml.sweep.execution.cluster.cpus", lambda: 2)
    path = project / "pipelines/studies/tiny.yaml"
    path.write_text(path.read_text() + f"resources: {{{needed}}}\n")
    for command in ("check", "run"):
        done = dml(command, "tiny")
        assert done.code == 1
        assert done.out.startswith("tiny: 2 cells")
        assert done.err.startswith("error: pipelines/studies/tiny.yaml:11: resources: a trial takes cpus_per_trial ")
    assert programs == []
    monkeypatch.setenv("RAY_ADDRESS", "ray://elsewhere")
    assert dml("check", "tiny").code == 0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("training: {batch: {classes: 4}, embedding_size: 64}", "embedding_size of at most 5"),
        ("evaluation: {sets: [test, seen], metrics: [recall@1]}", "names 'seen'"),
        ("noise: [{name: asymmetric, rates: [0.2], settings: {pairs: [[100, 101]]}}]", "no confusion between classes"),
        ("noise: [{name: given}]", "no labels as given"),
        ("class_splits: {folds: 30}", "Expected at most 5"),
        ("class_splits: {folds: 5}", ""),
    ],
)
def test_what_the_stages_would_refuse_of_ones_own_files_is_refused_before(dml, project, more, said):
    (project / "labels.csv").write_text("fine\n" + "\n".join(f"k{row // 4}" for row in range(40)))
    np.save(project / "x.npy", np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32))
    (project / "pipelines/studies/tiny.yaml").write_text(
        "title: x\ndatasets:\n- {name: features, settings: {vectors: x.npy, table: labels.csv}}\nlosses: [whitening]\n"
        f"seeds: [0]\nsearch: {{sampler: fixed, objective: recall@1}}\n{more}\n"
        + "training: {batch: {classes: 4}, embedding_size: 4}\n"
        * ("training" not in more)
    )
    done = dml("check", "tiny")
    assert (done.code, said in done.err) == (1 if said else 0, True), done.err


@pytest.mark.parametrize(("classes", "said"), [(6, "trains on 5"), (3, ""), (4, "trains on 3")])
def test_a_batch_of_more_classes_than_ones_own_files_have_is_refused_before_they_are_packed(
    dml, project, classes, said
):
    """Of ten classes five train, and three of these tune."""
    (project / "labels.csv").write_text("fine\n" + "\n".join(f"k{row // 4}" for row in range(40)))
    np.save(project / "x.npy", np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32))
    (project / "pipelines/studies/tiny.yaml").write_text(
        "title: x\ndatasets:\n- {name: features, settings: {vectors: x.npy, table: labels.csv}}\nlosses: [triplet]\n"
        f"training: {{frozen: true, embedding_size: 5, batch: {{classes: {classes}, per_class: 2}}}}\n"
    )
    done = dml("check", "tiny")
    assert done.code == bool(said), done.err
    assert said in done.err
    assert done.err.startswith("error: pipelines/studies/tiny.yaml:5" if said else "")
