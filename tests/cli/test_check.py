"""`dml check`: a study's mistakes and its cost."""


def test_a_valid_study_has_a_cost(dml, project):
    done = dml("check", "tiny")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "tiny: 2 cells, 4 trials (0 to tune, 4 to confirm)"
    assert "by timing a few steps on random images" in lines[1]
    assert "2 models" in lines[2]
    assert not (project / "store").exists()


def test_several_studies_are_summed(dml, project):
    path = project / "pipelines/studies/tiny.yaml"
    (project / "pipelines/studies/more.yaml").write_text(path.read_text().replace("seeds: [0, 1]", "seeds: [5]"))
    assert dml("check", "tiny", "more").out.splitlines()[-1].startswith("together: 6 trials, about ")


def test_a_mistake_is_named_with_file_line_and_choices(dml, project):
    path = project / "pipelines/studies/tiny.yaml"
    path.write_text(path.read_text().replace("search:", "serch:"))
    done = dml("check", "tiny")
    assert done.code == 1
    assert done.err.startswith("error: pipelines/studies/tiny.yaml:9: serch: unknown key; did you mean 'search'")
