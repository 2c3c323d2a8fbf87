"""A study of seconds under DVC, with a copy of `dml`: what a change runs again. The tests go on from one another."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import mlflow
import pandas as pd
import pytest

from dml.training.data import open_packed_of, training_rows

ROOT = Path(__file__).parents[2]
STUDY = "pipelines/studies/tiny.yaml"
PERSON = ("-c", "user.name=A tester", "-c", "user.email=tester@example.org")
OF_A_PERSON = (
    "report/thesis.tex",
    "report/figures/mine.svg",
    "data/tiny/split/oak.png",
    "data/tiny/noise/digits/oak.png",
    "data/tiny/oak/1.png",
    "results/notes.txt",
)
pytestmark = [pytest.mark.slow, pytest.mark.minutes, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def work(shared_project, tiny):
    project = shared_project
    shutil.copytree(ROOT / "dml", project.root / "dml", ignore=shutil.ignore_patterns("__pycache__"))
    project.environment |= {"PYTHONPATH": str(project.root)}
    project.study("tiny", tiny)
    project.track()
    assert project.stage("choose", "tiny").code == 0
    for command in (("init", "-q"), ("add", "-A"), (*PERSON, "commit", "-q", "-m", "start")):
        subprocess.run(["git", *command], cwd=project.root, check=True)
    return project


def repro(work, *targets: str) -> set[str]:
    """Run the pipeline, or as far as some stages; the stages that ran, but for `versions`, which always does."""
    done = work.run("dvc", "repro", *targets, timeout=900)
    assert done.code == 0, done.text
    ran = {name.partition("@")[0] for name in re.findall(r"Running stage '(\S+)'", done.text)}
    assert "versions" in ran
    return ran - {"versions"}


def change(work, path: str, old: str, new: str) -> None:
    text = (work.root / path).read_text()
    assert text.count(old) == 1
    (work.root / path).write_text(text.replace(old, new))


def summary(work) -> dict:
    return json.loads((work.root / "results/tiny/summary.json").read_text())


def test_repro_goes_from_download_to_the_report(work):
    stages = {"resolve", "download", "pack", "split", "corrupt", "features", "audit", "sweep", "report"}
    assert repro(work) == stages
    assert not (work.root / "audit").exists()  # nobody asked for one
    assert (work.root / "report/index.html").is_file()
    frame = pd.read_parquet(work.root / "results/tiny/trials.parquet")
    assert set(frame["cell"]) == {f"digits|uniform-0.2|triplet|{positives}+random" for positives in ("random", "easy")}
    assert set(frame["status"]) == {"finished"}
    untracked = subprocess.run(["git", "status", "--short"], cwd=work.root, capture_output=True, text=True).stdout
    assert untracked.split() == ["??", "dvc.lock"]


def test_mlflow_holds_the_study_its_cells_and_their_trials_and_no_model_of_labels_made_wrong(work):
    uri = f"sqlite:///{work.root / 'mlflow.db'}"
    client = mlflow.MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("dml").experiment_id
    runs = client.search_runs([experiment])
    kinds = {run.info.run_id: run.data.tags["dml.kind"] for run in runs}
    above = [(run.data.tags["dml.kind"], kinds.get(run.data.tags.get("mlflow.parentRunId"))) for run in runs]
    assert sorted(above, key=str) == [("cell", "study")] * 2 + [("study", None)] + [("trial", "cell")] * 2
    assert {run.info.status for run in runs} == {"FINISHED"}
    assert not client.search_logged_models([experiment]), "a fifth of its labels is made wrong on purpose"


def test_with_nothing_changed_nothing_runs(work):
    assert repro(work) == set()


def test_files_of_a_person_beside_and_among_outputs_stay(work):
    for name in OF_A_PERSON:
        (work.root / name).parent.mkdir(parents=True, exist_ok=True)
        (work.root / name).write_text("mine")
    assert repro(work) == {"report"}, "its folder has changed"
    assert repro(work) == set()
    assert [(work.root / name).read_text() for name in OF_A_PERSON] == ["mine"] * len(OF_A_PERSON)


def test_an_experiment_is_compared_with_the_last_commit(work):
    for command in (("add", "-A"), (*PERSON, "commit", "-q", "-m", "swept")):
        subprocess.run(["git", *command], cwd=work.root, check=True)
    done = work.run("dvc", "exp", "run", "-n", "longer", "-S", f"{STUDY}:training.steps=5", "sweep@tiny", timeout=600)
    assert done.code == 0, done.text
    changed = json.loads(work.run("dvc", "metrics", "diff", "--json").text)["results/tiny/summary.json"]
    assert changed["study_digest"]["old"] != changed["study_digest"]["new"]
    assert "longer" in work.run("dvc", "exp", "list").text
    subprocess.run(["git", "checkout", "-q", "--", "."], cwd=work.root, check=True)
    assert work.run("dvc", "checkout", "--force").code == 0
    assert repro(work) == set()
    assert all((work.root / name).is_file() for name in OF_A_PERSON)


def test_a_clone_pulls_from_object_storage_and_trains_nothing(work, object_storage, tmp_path):
    """A remote on S3, as a user sets it: an address and keys in the environment."""
    pytest.importorskip("dvc_s3", reason="pip install 'noisy-dml[s3]'")
    environment = object_storage.environment
    remote = ("remote", "add", "--local", "--default", "shared", f"{object_storage.bucket('dvc')}/project")
    for command in (remote, ("push",)):
        done = work.run("dvc", *command, **environment)
        assert done.code == 0, done.text
    assert object_storage.names("dvc/project")
    subprocess.run(["git", "clone", "-q", str(work.root), str(tmp_path / "clone")], check=True)
    before, work.root = work.root, tmp_path / "clone"
    try:
        (work.root / "docs/results").mkdir(parents=True)  # nothing is published, and git keeps no empty folder
        environment = {**environment, "PYTHONPATH": str(work.root)}
        for command in (remote, ("pull",)):
            done = work.run("dvc", *command, **environment)
            assert done.code == 0, done.text
        made, found = (pd.read_parquet(root / "results/tiny/trials.parquet") for root in (before, work.root))
        pd.testing.assert_frame_equal(found, made)
        assert repro(work) == {"report"}, "which DVC does not keep"
        assert (work.root / "report/index.html").is_file()
        assert not (work.root / "store/trials").exists()
    finally:
        work.root = before
        work.run("dvc", "remote", "remove", "--local", "shared")


def test_a_new_seed_trains_alone(work):
    change(work, STUDY, "seeds: [0]", "seeds: [0, 1]")
    assert repro(work) == {"resolve", "corrupt", "features", "audit", "sweep", "report"}
    assert all((work.root / name).is_file() for name in OF_A_PERSON)
    assert (summary(work)["trials"], summary(work)["already_done"]) == (4, 2)
    changed = json.loads(work.run("dvc", "params", "diff", "--json").text)
    assert changed[STUDY] == {"seeds": {"old": "[0]", "new": "[0, 1]"}}


def test_a_change_of_an_extended_study_reaches_those_that_extend_it(work):
    work.study("more", "extends: tiny\nseeds: [5]\n")
    assert work.stage("choose", "tiny", "more").code == 0
    assert "sweep" not in repro(work, "corrupt@tiny", "corrupt@more")
    change(work, STUDY, "rates: [0.2]", "rates: [0.2, 0.3]")
    assert repro(work, "download@more", "corrupt@more") == {"resolve", "corrupt"}
    labels = pd.read_parquet(work.root / "data/more/noise/digits.parquet")
    assert (set(labels["rate"]), set(labels.loc[labels["phase"] == "confirm", "seed"])) == ({0.2, 0.3}, {5})
    change(work, STUDY, "rates: [0.2, 0.3]", "rates: [0.2]")
    assert work.stage("choose", "tiny").code == 0


def test_tidying_trains_nothing_and_a_raised_version_trains_what_runs_the_part(work):
    part = "dml/losses/triplet.py"
    with open(work.root / part, "a") as file:
        file.write("\nTIDIED = True\n")
    assert repro(work) >= {"sweep"}
    assert summary(work)["already_done"] == 4
    assert "nothing runs again" in work.run("python", "pipelines/why.py", "tiny").text

    change(work, "dml/losses/quadruplet.py", "version: ClassVar[int] = 1", "version: ClassVar[int] = 2")
    assert "nothing runs again" in work.run("python", "pipelines/why.py", "tiny").text
    change(work, part, "version: ClassVar[int] = 1", "version: ClassVar[int] = 2")
    assert "versions.losses.triplet: 1 -> 2" in work.run("python", "pipelines/why.py", "tiny").text
    assert repro(work) >= {"sweep"}
    assert (summary(work)["trials"], summary(work)["already_done"]) == (4, 0)


def test_an_edited_label_file_corrupts_again(work):
    entry = "  - {name: label_file, rates: [0.0], settings: {path: pipelines/labels/mine.csv}}\n"
    change(work, STUDY, "losses:", f"{entry}losses:")
    labels = work.root / "pipelines/labels/mine.csv"
    root = work.root / "data/tiny"
    repro(work, "split@tiny")
    coarse = open_packed_of(root, "digits").index["coarse"]
    table = pd.DataFrame({"index": range(len(coarse)), "label": coarse})
    table.to_csv(labels, index=False)
    assert repro(work, "corrupt@tiny") == {"corrupt"}
    assert repro(work, "corrupt@tiny") == set()
    row = training_rows(root, "digits", "confirm")[0]
    table.loc[row, "label"] = -1
    table.to_csv(labels, index=False)
    assert repro(work, "corrupt@tiny") == {"corrupt"}
    noise = pd.read_parquet(root / "noise/digits.parquet").query("noise == 'label_file' and phase == 'confirm'")
    assert noise.loc[noise["observed"] < 0, "index"].unique().tolist() == [row]
