"""Finding the project, and choosing studies."""

from pathlib import Path

import pytest

from dml.cli.project import Project, studies_of

ROOT = Path(__file__).parents[2]


def test_a_papers_name_stands_for_its_studies_that_need_no_gpu():
    found = studies_of(Project(ROOT), ["paper-eps", "quickstart", "eps-table1"])
    assert found[-1] == "quickstart"
    assert found.count("eps-table1") == 1
    assert not [name for name in found if name.endswith(("-cub200", "-cars196"))]


def test_a_study_may_be_named_by_its_file(project):
    file = project / "pipelines/studies/tiny.yaml"
    for name in ("tiny", "tiny.yaml", "pipelines/studies/tiny.yaml", str(file)):
        assert studies_of(Project(project), [name, "tiny"]) == ["tiny"]
    with pytest.raises(ValueError, match=r"tinny\.yaml: no such study or group; did you mean 'tiny'"):
        studies_of(Project(project), ["../tinny.yaml"])
