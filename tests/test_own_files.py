"""Files of people where outputs go: a run refuses, and what is written replaces only files of an earlier run."""

import json
import os
import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml

from dml import own_files
from dml.own_files import check, clean, foreign, is_output, replaced, tidy

ROOT = Path(__file__).parents[1]
SPLIT = pd.DataFrame({"index": [0], "final": ["train"], "tune": ["train"]})
NOISE = pd.DataFrame({"noise": ["uniform"], "index": [0], "observed": [1], "flipped": [True]})
TRIALS = pd.DataFrame({"loss": ["triplet"], "status": ["finished"]})
STUDY = {"title": "Wood", "datasets": [{"source": "digits", "train_on": "coarse"}], "losses": ["triplet"]}
JSON = {
    "data/wood/download.json": {"digits": {"source": "digits", "files": 0}},
    "data/wood/pack.json": {"digits": {"folder": "../../store/packed/digits"}},
    "data/wood/features.json": {"digits": {"small_conv-1": {"folder": "../../store/features/small_conv-1"}}},
    "data/wood/audit.json": {},
    "results/wood/summary.json": {"study": "wood", "cells": 1},
}
PAGE = '<header class="top"><a class="home" href="index.html">dml <span>report</span></a></header>'


@pytest.fixture
def project(tmp_path):
    """A project's pipeline, and nothing that ran."""
    (tmp_path / "dvc.yaml").write_text((ROOT / "dvc.yaml").read_text())
    return tmp_path


@pytest.fixture
def ran(project):
    """The outputs of a study `wood`."""
    for name, content in JSON.items():
        write(project / name, json.dumps(content, indent=2) + "\n")
    for name, content in (("study", STUDY), ("datasets", STUDY["datasets"])):
        write(project / f"data/wood/{name}.yaml", yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
    tables = {"data/wood/split/digits": SPLIT, "data/wood/split/cars/0": SPLIT, "data/wood/noise/digits": NOISE}
    for name, table in (tables | {"results/wood/trials": TRIALS}).items():
        write(project / f"{name}.parquet", "")
        table.to_parquet(project / f"{name}.parquet")
    return project


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def files(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("report/thesis.tex", "years of work"),
        ("report/index.html", "<title>My own page</title>"),
        ("report", "a file"),
        ("data", "a file"),
        ("data/wood", "a file"),
        ("results/wood", "a file"),
        ("data/wood/split", "a file"),
        ("data/wood/split/oak.png", "an image"),
        ("data/wood/noise/loud/oak.png", "an image"),
        ("data/wood/noise/mine.parquet", "a table"),
        ("data/wood/study.yaml", yaml.safe_dump(STUDY, sort_keys=False)),  # without `datasets.yaml`
        ("data/wood/datasets.yaml", "- oak\n- pine\n"),
        ("data/wood/download.json", '{"url": "http://example.org"}'),
        ("data/wood/pack.json", "[]"),
        ("data/wood/features.json", "{broken"),
        ("data/wood/audit.json", '{"wood": 1}'),
        ("data/wood/pack.json/oak.png", "an image in a folder of that name"),
        ("results/wood/summary.json", '{"accuracy": 0.9}'),
        ("results/wood/trials.parquet", ""),
    ],
)
def test_a_run_refuses_while_a_file_of_a_person_is_where_outputs_go(project, path, text):
    write(project / path, text)
    before = files(project)
    with pytest.raises(ValueError, match=rf"^({path}|{Path(path).parent}): dml writes there"):
        check(project, ["other", "wood"])
    assert files(project) == before


@pytest.mark.parametrize("name", ["report", "data/wood/split", "data/wood/study.yaml"])
@pytest.mark.parametrize("target", ["elsewhere", "gone"])
def test_links_of_a_person_are_refused(project, name, target):
    write(project / "elsewhere/thesis.tex", "years of work")
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).symlink_to(project / target)
    with pytest.raises(ValueError, match=name):
        check(project, ["wood"])


def test_a_handwritten_study_beside_images_is_a_persons(project):
    """It says the same as what `resolve` would write, in other words."""
    write(project / "data/wood/study.yaml", "title: Wood # mine\ndatasets: [{source: digits}]\n")
    write(project / "data/wood/datasets.yaml", "- {source: digits}\n")
    with pytest.raises(ValueError, match=r"study\.yaml"):
        check(project, ["wood"])


def test_outputs_of_every_version_are_no_persons(ran):
    check(ran, ["wood"])
    write(ran / "data/wood/oak/1.png", "beside outputs")
    write(ran / "results/wood/notes.txt", "beside outputs")
    write(ran / "data/wood/split/note.txt", "among outputs, after a run")
    write(ran / "report/.gitkeep", "")
    (ran / "data/empty/split").mkdir(parents=True)
    check(ran, ["wood", "empty", "new"])


def put(out: Path, **texts: str) -> None:
    with replaced(out) as fresh:
        for name, text in texts.items():
            write(fresh / name.replace("__", "/"), text)


def test_what_was_written_is_replaced_and_files_of_others_stay(tmp_path):
    out = tmp_path / "report"
    put(out, index="1", studies__old="1", studies__kept="1")
    write(out / "studies/mine", "mine")
    write(out / "notes/one.txt", "mine")
    put(out, index="2", studies__kept="2")
    found = {name: text.decode() for name, text in files(out).items() if name != own_files.MANIFEST}
    assert found == {"index": "2", "studies/kept": "2", "studies/mine": "mine", "notes/one.txt": "mine"}
    put(out, index="3")
    assert sorted(files(out)) == [own_files.MANIFEST, "index", "notes/one.txt", "studies/mine"]
    (out / "studies/mine").unlink()
    put(out, index="3", studies__kept="3")
    put(out, index="3")
    assert not (out / "studies").exists()
    assert foreign(out) == []


@pytest.mark.parametrize("name", ["index", "figures", "figures/plot"])
def test_no_file_of_a_person_is_overwritten(tmp_path, name):
    out = tmp_path / "report"
    put(out, page="1")
    write(out / name, "mine")
    before = files(out)
    with pytest.raises(ValueError, match=f"report/{name}"):
        put(out, page="2", index="2", figures__plot="2")
    assert files(out) == before
    assert os.listdir(tmp_path) == ["report"]


def test_a_file_that_somebody_changed_is_not_overwritten(tmp_path):
    out = tmp_path / "report"
    put(out, index="1", old="1")
    for name in ("index", "old"):
        (out / name).write_text("mine")
    assert foreign(out) == [out / "index", out / "old"]
    with pytest.raises(ValueError, match="report/index"):
        put(out, index="2")
    (out / "index").unlink()
    put(out, index="2")
    assert (out / "old").read_text() == "mine"


def test_after_a_kill_in_the_middle_nothing_is_taken_for_a_persons(tmp_path, monkeypatch):
    out = tmp_path / "report"
    put(out, a="1", b="1", old="1")
    move, moved = os.replace, []

    def killed(source, target):
        if Path(target).parent == out and Path(target).name != own_files.MANIFEST:
            moved.append(target)
            if len(moved) == 2:
                raise KeyboardInterrupt
        move(source, target)

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        put(out, a="2", b="2")
    monkeypatch.undo()
    assert [(out / name).read_text() for name in "ab"] == ["2", "1"]
    assert foreign(out) == []
    put(out, a="3", b="3")
    assert sorted(files(out)) == [own_files.MANIFEST, "a", "b"]


def test_cleaning_deletes_outputs_alone(ran):
    put(ran / "report", **{"index.html": PAGE})
    put(ran / "audit/wood", **{"index.html": PAGE})
    own = {"report/thesis.tex", "audit/notes.txt", "data/wood/split/oak.png", "data/oak/1.png", "results/wood/plot.pdf"}
    for name in own:
        write(ran / name, "mine")
    own.add("results/wood/trials before.parquet")
    TRIALS.to_parquet(ran / "results/wood/trials before.parquet")
    tidy(ran / "data/wood/split", [*(ran / "data/wood/split").rglob("*.parquet")])
    own.add("data/wood/split/before.parquet")
    shutil.copy(ran / "data/wood/split/digits.parquet", ran / "data/wood/split/before.parquet")
    write(ran / "store/trials/a", "kept")
    assert {path.relative_to(ran).as_posix() for path in clean(ran)} == own
    assert files(ran).keys() == {*own, "dvc.yaml", "store/trials/a"}
    assert not (ran / "audit/wood").exists()


def test_what_the_stages_write_has_the_form_of_an_output(tmp_path, monkeypatch):
    from dml.config import load_study
    from dml.pipeline import download, pack, resolve

    monkeypatch.chdir(tmp_path)
    write(tmp_path / "pipelines/studies/wood.yaml", "title: Wäld\ndatasets: [digits]\nlosses: [triplet]\nseeds: [0]\n")
    study = load_study(Path("pipelines/studies/wood.yaml"))
    for stage in (resolve, download, pack):
        stage.run(study)
    written = sorted(Path("data/wood").glob("*"))
    assert len(written) == 4
    assert [path for path in written if not is_output(path)] == []
    TRIALS.to_parquet("data/wood/images.parquet")  # of a person, who has such columns
    assert not is_output(Path("data/wood/images.parquet"))
