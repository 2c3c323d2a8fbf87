"""`dml init`: what it writes, what it leaves alone, and that a clone has the same pipeline."""

import re
from pathlib import Path

import pytest
import yaml

from dml.cli.init import TEMPLATE
from dml.cli.project import find_project

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SAME = [
    "pipelines/studies/quickstart.yaml",
    *(f"pipelines/{name}/README.md" for name in ("audits", "labels", "weights")),
]


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """An empty folder, the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def test_an_empty_folder_becomes_a_project(dml, empty):
    done = dml("init")
    assert done.code == 0, done.err
    assert files(empty) >= {"dvc.yaml", "params.yaml", ".gitignore", ".dvcignore", ".dvc/config", *SAME}
    assert "no_scm = true" in (empty / ".dvc/config").read_text()
    assert f"A project in {empty}:" in done.out
    assert "No git repository" in done.out
    assert "dml run quickstart" in done.out
    assert "cd " not in done.out
    below = empty / "pipelines/studies"
    assert find_project(below).root == empty
    assert find_project().names() == find_project().chosen() == ["quickstart"]
    watched = {
        path for stage in yaml.safe_load((empty / "dvc.yaml").read_text())["stages"].values() for path in deps(stage)
    }
    assert all((empty / path).is_dir() for path in watched), watched


def deps(stage: dict) -> list[str]:
    """The folders that a stage depends on and no stage writes."""
    found = stage.get("do", stage).get("deps", [])
    return [path for path in found if not path.startswith(("data/", "results"))]


def test_in_git_dvc_uses_it_and_gitignore_keeps_its_lines(dml, empty):
    (empty / ".git").mkdir()
    (empty / ".gitignore").write_text("*.tmp\n/store/")
    done = dml("init")
    assert done.code == 0, done.err
    assert "no_scm" not in (empty / ".dvc/config").read_text()
    assert "No git repository" not in done.out
    lines = (empty / ".gitignore").read_text().splitlines()
    assert lines[:2] == ["*.tmp", "/store/"]
    assert lines.count("/store/") == 1
    assert "/results/" in lines


def test_nothing_is_overwritten(dml, empty):
    (empty / "params.yaml").write_text("mine: 1\n")
    (empty / "dvc.yaml").write_text("stages: {}\n")
    done = dml("init")
    assert done.code == 1
    assert done.err.startswith("error: nothing was written, since a project would overwrite files in")
    assert ": dvc.yaml, params.yaml. Move them away, or choose another folder: dml init FOLDER" in done.err
    assert files(empty) == {"params.yaml", "dvc.yaml"}
    assert (empty / "params.yaml").read_text() == "mine: 1\n"


def test_a_clone_has_the_same_pipeline():
    """But for its scripts in `pipelines`, which start the same code."""
    ours = (ROOT / "dvc.yaml").read_text(encoding="utf-8")
    assert (
        re.sub(r"python -P pipelines/(\w+)\.py", r"python -P -m dml.pipeline \1", ours)
        == (TEMPLATE / "stages.yaml").read_text()
    )
    for name in SAME:
        assert (TEMPLATE / name).read_bytes() == (ROOT / name).read_bytes(), name
    assert (TEMPLATE / "dvcignore").read_bytes() == (ROOT / ".dvcignore").read_bytes()
    own = set((TEMPLATE / "gitignore").read_text().splitlines())
    assert own <= set((ROOT / ".gitignore").read_text().splitlines()) | {"# what `dml run` makes"}


def test_dvc_deletes_no_output_before_a_stage_runs():
    stages = yaml.safe_load((TEMPLATE / "stages.yaml").read_text())["stages"].values()
    outs = [out for stage in stages for kind in ("outs", "metrics") for out in stage.get("do", stage).get(kind, ())]
    assert len(outs) == 12
    assert all(settings["persist"] for out in outs for settings in out.values()), outs
