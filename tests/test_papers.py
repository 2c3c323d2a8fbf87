"""The seam between the engine and a project's papers: a folder is a paper, and a project may have none."""

import os
from pathlib import Path

import pytest

from dml.pipeline import versions

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PAPER = "title: A fifth paper\nyear: 2030\ncomputed: Counted.\nsections: [sum_of_two]\n"
CLAIMS = "id,claim,decided_by\nfifth-sum,One and one are three.,theory\n"
PUBLISHED = "table,dataset,labels,method,metric,value\n1,digits,all,Triplet,R@1,50\n"
SECTION = """\
from dml.report.page.blocks import Paragraph
from dml.report.sections import TheoryVerdict


class SumOfTwo:
    anchor, title = "sum", "A sum"

    def content(self):
        yield Paragraph("It is computed.")

    def verdicts(self):
        return [TheoryVerdict("fifth-sum", "refuted", f"1 + 1 = {1 + 1}.")]
"""
TESTS = """\
from dml.report.claims import claim, paired


@claim("fifth-sum", "mine")
def easy(results):
    yield paired(results, {"positives": "easy"}, {"positives": "random"})
"""
STUDY = """\
title: A study
datasets: [digits]
losses: [triplet]
positives: [random, easy]
negatives: [random]
seeds: [0]
reference_values:
  - {paper: fifth, table: "1", labels: all, dataset: digits, method: Triplet, match: {positives: easy}}
"""
BUILD = """\
from pathlib import Path

from dml.config import load_study
from dml.report.site import build

build([load_study("pipelines/studies/mine.yaml")])
"""


@pytest.fixture
def project(tmp_path, forks):
    """A project with one paper, a folder of four files, and a function that runs Python in it."""
    paper = tmp_path / "papers/fifth"
    texts = {
        paper / "paper.yaml": PAPER,
        paper / "claims.csv": CLAIMS,
        paper / "claims.py": TESTS,
        paper / "published.csv": PUBLISHED,
        paper / "sections/sum_of_two.py": SECTION,
        tmp_path / "pipelines/studies/mine.yaml": STUDY,
        tmp_path / "papers/a-manuscript.pdf": "of no concern",
    }
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def python(code, status=0):
        code = f"import dml, sys; sys.path = [p for p in sys.path if p != {str(ROOT)!r}]\n{code}"  # without its papers
        done = forks.start(["-c", code], tmp_path, os.environ)
        text, _ = done.communicate(200)
        assert done.returncode == status, text
        return text

    return tmp_path, python


@pytest.mark.slow
def test_a_paper_is_a_folder(project):
    root, python = project
    python(BUILD)
    said = {
        "theory": ('id="sum"', "Counted.", "It is computed."),
        "claims": ('id="fifth-sum"', 'data-verdict="refuted"', "1 + 1 = 2.", "A fifth paper"),
        "studies/mine": ('href="../claims.html#fifth-sum"', "50.0"),
    }
    for page, texts in said.items():
        assert [text for text in texts if text not in (root / f"report/{page}.html").read_text()] == []
    assert (root / "report/index.html").read_text().count("theory.html") == 2


@pytest.mark.slow
def test_a_project_without_papers_has_no_page_of_theory_or_claims(project):
    root, python = project
    for path in sorted((root / "papers").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (root / "pipelines/studies/mine.yaml").write_text(STUDY.partition("reference_values:")[0])
    python(BUILD)
    assert not {"theory.html", "claims.html"} & {path.name for path in (root / "report").iterdir()}
    for name in ("index", "studies/mine", "glossary"):
        text = (root / "report" / f"{name}.html").read_text()
        assert "theory.html" not in text
        assert "claims.html" not in text


@pytest.mark.parametrize("others_first", [False, True])
def test_a_project_with_papers_hides_none_of_pythons_modules(project, others_first):
    root, python = project
    (root / "papers/__init__.py").touch()
    (root / "calendar.py").touch()
    said = python(f"""
from importlib.machinery import PathFinder
from pathlib import Path
from dml.papers import papers, use_project
sys.path[:0] = [{str(ROOT)!r}] * {others_first}  # with papers of another project
use_project(Path())
print(papers()[0].name, Path(PathFinder.find_spec("calendar").origin).parent == Path({str(root)!r}))
""")
    assert said == "fifth False\n"


def test_the_report_counts_the_papers_code_and_no_other_stage_does(project):
    root, _ = project
    of = {stage: {name for name in versions.digests(stage, root) if "papers/" in name} for stage in ("report", "sweep")}
    files = {"paper.yaml", "claims.csv", "published.csv", "sections/sum_of_two.py"}
    assert of["report"] >= {f"papers/fifth/{name}" for name in files}
    assert not of["sweep"]
