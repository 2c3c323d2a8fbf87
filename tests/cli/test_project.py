"""Finding the project, and choosing studies."""

from pathlib import Path

import pytest
import yaml
from ruamel.yaml import YAML

from dml.cli.project import Project, choose, studies_of

ROOT = Path(__file__).parents[2]


def test_a_papers_name_stands_for_its_studies_that_need_no_gpu():
    found = studies_of(Project(ROOT), ["paper-eps", "quickstart", "eps-table1"])
    assert found[-1] == "quickstart"
    assert found.count("eps-table1") == 1
    assert not [name for name in found if name.endswith(("-cub200", "-cars196"))]


def test_a_study_may_be_named_by_its_file(project, monkeypatch):
    file = project / "pipelines/studies/tiny.yaml"
    for name in ("tiny", "tiny.yaml", "pipelines/studies/tiny.yaml", str(file)):
        assert studies_of(Project(project), [name, "tiny"]) == ["tiny"]
    monkeypatch.chdir(project / "pipelines")
    assert studies_of(Project(project), ["studies/tiny.yaml", "pipelines/studies/tiny.yaml"]) == ["tiny"]
    (project / "tiny.yaml").write_text(file.read_text())
    with pytest.raises(ValueError, match=r"^\.\./tiny\.yaml: expected a file in .*studies, where"):
        studies_of(Project(project), ["../tiny.yaml"])
    with pytest.raises(ValueError, match=r"^\.\./tinny\.yaml: no such study or group; did you mean 'tiny'"):
        studies_of(Project(project), ["../tinny.yaml"])


def test_choosing_keeps_the_comments(project):
    text = (project / "pipelines/studies/tiny.yaml").read_text()
    (project / "pipelines/studies/other.yaml").write_text(text)
    assert choose(Project(project), ["other", "tiny", "other"]) == ["other", "tiny"]
    written = (project / "params.yaml").read_text()
    assert written.startswith("# a comment\n")
    assert yaml.safe_load(written) == {"studies": ["other", "tiny"]}
    assert Project(project).chosen() == ["other", "tiny"]


@pytest.mark.parametrize("name", ["1e3", "0o17", "2024-01-01", "yes"])
def test_dvc_reads_the_name_of_each_chosen_study_as_it_is(project, name):
    """DVC reads YAML 1.2, in which `0o17` is 15, and PyYAML writes and reads YAML 1.1."""
    text = (project / "pipelines/studies/tiny.yaml").read_text()
    (project / f"pipelines/studies/{name}.yaml").write_text(text)
    params = project / "params.yaml"
    for before in ("studies:\n- tiny\n", f"studies:\n- {name}\n", f"studies:\n- '{name}'\nversion: '{name}'\n"):
        params.write_text(before)
        assert choose(Project(project), [name]) == [name] == Project(project).chosen()
        read = YAML(typ="safe").load(params)
        assert read["studies"] == [name]
        assert read.get("version", name) == name


def test_modules_of_the_project_hide_none_of_pythons(project):
    """Neither in the program nor in one that it starts, unless that is a script of DVC's stages."""
    (project / "random.py").write_text("raise SystemExit(3)\n")
    again = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', 'import random']))"
    for code in ("import random", again):
        assert Project(project).run("-c", code, check=False) == 0
    assert Project(project).run("-c", again, "dvc", check=False) == 3
