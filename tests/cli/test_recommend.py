"""`dml recommend`: the rate that it takes, and what it prints and writes."""

import json
import shutil
from pathlib import Path

import pytest

from dml.cli.noise_rate import audited_rate, chosen_rate
from dml.files import write_json

ROOT = Path(__file__).parents[2]
NAME = "tiny"


def test_the_winner_its_settings_and_the_command_are_printed_and_written(dml, swept):
    done = dml("recommend", NAME, "--rate", 0.1, "--json", "best.json")
    assert done.code == 0, done.err
    assert done.out.startswith(
        "tiny at 10% wrong labels (digits, uniform noise, not tuned): R@1, test classes, fine labels\n"
    )
    assert "best     triplet, easy + random    69.5 " in done.out
    assert "loss.margin              0.2" in done.out
    assert "interpolated linearly between 0% (75%) and 40% (25%)" in done.out
    assert done.out.endswith("  dml refit tiny --rate 0.1\n")
    content = json.loads((swept / "best.json").read_text())
    assert content["measured"] == {"0": 0.75, "0.4": 0.25}
    assert content["methods"][0]["verdict"] == "best"
    assert content["commands"] == ["dml refit tiny --rate 0.1"]


def test_without_a_rate_the_audit_says_it_else_it_must_be_chosen(dml, swept):
    done = dml("recommend", NAME)
    assert done.code == 1
    assert "measured the noise rates 0, 0.4, and no audit of it" in done.err
    write_json(swept / "audit/tiny/summary.json", {"rate": {"guess": 0.3}})
    done = dml("recommend", NAME)
    assert "at 30% wrong labels" in done.out
    assert "The rate: first guess of its audit." in done.out


def test_the_order_of_sources_of_the_rate(tmp_path):
    def rate(asked=None, dataset="digits"):
        return chosen_rate(asked, tmp_path, [0.2], NAME, dataset)

    assert audited_rate(tmp_path, "digits") is None
    assert rate() == (0.2, "the only one that the study measured")
    write_json(tmp_path / "summary.json", {"dataset": "digits", "rate": {"guess": 0.3, "sure": 0.1}, "review": None})
    assert rate().value == 0.3
    assert rate(dataset="mnist").value == 0.2
    write_json(tmp_path / "summary.json", {"rate": {"guess": 0.3}, "review": {"rate": 0.25, "low": 0.2}})
    assert rate().value == 0.25
    assert rate(0.1).value == 0.1
    (tmp_path / "summary.json").write_text("[]")
    assert audited_rate(tmp_path, "digits") is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tinny"], "error: 'tinny': no such study; did you mean 'tiny'?"),
        ([NAME, "--rate", 40], "got 40; did you mean 0.4?"),
        ([NAME, "--rate", 0, "--dataset", "mnist"], "no results of 'mnist'. Choices: digits"),
        ([NAME, "--rate", 0, "--score", "nmi"], "has no 'nmi'"),
    ],
)
def test_errors_name_the_choices(dml, swept, arguments, message):
    done = dml("recommend", *arguments)
    assert (done.code, done.out) == (1, "")
    assert message in done.err
    assert done.err.count("\n") == 1


def test_a_study_without_results_says_what_to_run(dml, project):
    assert "study 'tiny' has no finished trials" in dml("recommend", NAME).err


def test_published_results_need_no_training(dml, project):
    name = "noise-half"
    for study in (name, "noise-omniglot"):
        shutil.copy(ROOT / f"pipelines/studies/{study}.yaml", project / "pipelines/studies")
    shutil.copytree(ROOT / "docs/results" / name, project / "docs/results" / name)
    done = dml("recommend", name, "--rate", 0.368)
    assert "The only method with results at this rate." in done.out
    assert "Published results, of commit" in done.out
