"""The first screen of docs/results.md: sentences of numbers that are decided, and none of others."""

import re
from pathlib import Path

import numpy as np
import pytest

from dml.report.analysis.factorial import crossed
from dml.report.analysis.pooled import pooled_effects
from dml.report.answers import QUESTION, answers, say
from dml.report.page.markdown import markdown

pytestmark = pytest.mark.slow

FIGURES = Path("figures")


def test_a_study_with_crossed_axes_answers_with_effects_at_each_rate(synthetic, loaded):
    study = loaded(synthetic.study("joint", seeds=list(range(8))))
    text = markdown(answers([study], FIGURES))
    lines = text.splitlines()
    assert lines[0] == f"## {QUESTION}"
    effects = {(e.level, e.rate): e for e in pooled_effects(crossed(study)[0])}
    easy = effects["easy", 0.4]
    assert easy.holm < 0.05
    row = next(line for line in lines if line.startswith("| positives | best"))
    assert f"best easy +{easy.summary.mean:.1f} [+{easy.summary.low:.1f}, +{easy.summary.high:.1f}]" in row
    assert "![Effects of choices](figures/joint-effects.png)" in text


def test_what_is_not_decided_is_left_out(synthetic, loaded):
    def level(frame):
        scores = [column for column in frame if column.count("/") == 2]
        noise = np.random.default_rng(0).normal(0, 0.05, (len(frame), len(scores)))
        return frame.assign(**{key: 0.5 + noise[:, i] for i, key in enumerate(scores)})

    same = loaded(synthetic.small(), level)
    assert markdown(answers([same], FIGURES)) == f"## {QUESTION}\n\n{say('nothing')}"
    joint = markdown(answers([loaded(synthetic.study(), level)], FIGURES))
    assert "| best" not in joint
    assert "not decided" in joint


def test_a_study_over_noise_rates_says_who_wins_and_who_keeps_most(synthetic, loaded):
    text = markdown(answers([loaded(synthetic.small(seeds=list(range(6))))], FIGURES))
    assert re.search(
        r"`small`, 40% noise: triplet, easy \+ random, chosen on validation classes, has R@1 [\d.]+ \[", text
    )
    kept = r"triplet, easy \+ random retains ([\d.]+) \[[^]]+\]% of its clean score \(([\d.]+) of ([\d.]+)\)"
    share, after, before = map(float, re.search(f"`small`, 40% noise: {kept}", text).groups())
    assert share == pytest.approx(100 * after / before, rel=0.05)
