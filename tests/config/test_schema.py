"""The JSON Schema accepts every study here, rejects what a study rejects, and the reference is made from it."""

import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from dml.config.schema import reference, schema

ROOT = Path(__file__).parents[2]
CHECK = jsonschema.Draft202012Validator(schema())


class Yaml(yaml.SafeLoader):
    """As editors read YAML 1.2: `1e-3` is a number."""


EXPONENT = re.compile(r"^[-+]?\d+(\.\d*)?[eE][-+]?\d+$")
Yaml.add_implicit_resolver("tag:yaml.org,2002:float", EXPONENT, list("-+0123456789"))


@pytest.mark.parametrize("path", sorted((ROOT / "pipelines/studies").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_study_here_is_valid(path):
    assert [error.message for error in CHECK.iter_errors(yaml.load(path.read_text(encoding="utf-8"), Yaml))] == []


STUDY = {"title": "a", "datasets": ["digits"], "losses": ["triplet"]}


@pytest.mark.parametrize(
    "change",
    [
        {"datasets": []},
        {"losses": ["tripled"]},
        {"losses": [{"name": "triplet", "margin": 0.1}]},
        {"losses": [{"name": "triplet", "search": {"margin": {"normal": [0, 1]}}}]},
        {"positives": ["easiest"]},
        {"noise": [{"name": "uniform", "rates": [1.5]}]},
        {"training": {"backbone": "small_cnn"}},
        {"training": {"steps": -1}},
        {"training": {"search": {"learning_rate": {"choice": [0.1], "uniform": [0.1, 0.2]}}}},
        {"training": {"batch": {"classes": "many"}}},
        {"search": {"stop": "first"}},
        {"seeds": [-1]},
        {"seeds": "all"},
        {"seeds": {"auto": {"least": 1}}},
        {"speed": 1},
    ],
    ids=str,
)
def test_what_a_study_rejects_is_invalid(change):
    assert CHECK.is_valid(STUDY)
    assert not CHECK.is_valid({**STUDY, **change})


def test_the_reference_is_that_of_the_models():
    page = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
    assert page == reference(), "make stubs writes docs/settings.md"
