"""A small example: a sweep on one page, whose numbers are those of dml."""

import importlib.util
import json
from pathlib import Path

import pytest

import dml

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def tiny():
    spec = importlib.util.spec_from_file_location("tiny_dml", ROOT / "docs/tiny/tiny_dml.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tiny_sweep_searches_on_classes_that_are_not_tested(tiny):
    _, labels, trains = tiny.load()
    parts = {part: [set(labels[rows]) for rows in tiny.split(labels, trains, part)] for part in ("validation", "test")}
    assert len(parts["test"][0]) == 60
    assert len(parts["test"][1]) == 40
    for training, scored in parts.values():
        assert training
        assert scored
        assert not training & scored
    assert not set.union(*parts["validation"]) & parts["test"][1]


def test_the_tiny_score_is_that_of_dml(tiny):
    pixels, labels, _ = tiny.load()
    embeddings = tiny.torch.from_numpy(pixels[:600])
    expected = dml.evaluation.evaluate(embeddings, labels[:600], metrics=["recall@1"])["recall@1"]
    assert tiny.recall_at_1(embeddings, labels[:600]) == pytest.approx(expected, abs=0.005)


@pytest.mark.slow
def test_the_tiny_sweep_resumes_with_the_same_numbers(tiny, tmp_path, monkeypatch):
    few = {"losses": ["triplet"], "rates": [0.0, 0.4], "trials": 2, "seeds": [0], "steps": 3}
    first = tiny.sweep(tmp_path, **few)
    files = sorted(tmp_path.glob("*.json"))
    assert len(files) == 2 * (2 + 1)
    assert all(json.loads(path.read_text())["spec"]["steps"] == 3 for path in files)
    files[0].unlink()  # as if interrupted
    trained, train = [], tiny.train
    monkeypatch.setattr(tiny, "train", lambda *given: trained.append(given) or train(*given))
    assert tiny.sweep(tmp_path, **few) == first
    assert len(trained) == 1
