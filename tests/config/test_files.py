"""Files that a study names: missing ones are named with the line, before anything runs."""

import pytest

from dml.config import ConfigError, check_files, load_study

STUDY = """\
title: Own weights
datasets: [digits]
losses: [triplet]
training:
  backbone: mobilenet_v1
  backbone_settings: {width: 0.25}
vary:
  training.backbone_settings.weights: [null, WEIGHTS]
"""


def check(tmp_path, text):
    path = tmp_path / "own.yaml"
    path.write_text(text)
    check_files(load_study(path), path)


def test_the_line_of_a_missing_file(tmp_path):
    (tmp_path / "a.pth").write_bytes(b"")
    check(tmp_path, STUDY.replace("WEIGHTS", str(tmp_path / "a.pth")))
    with pytest.raises(ConfigError, match=r"own\.yaml:8: vary.*weights\[1\]: weights: none\.pth: no such file"):
        check(tmp_path, STUDY.replace("WEIGHTS", "none.pth"))
    fixed = STUDY.partition("vary")[0].replace("0.25", "0.25, weights: none.bin")
    with pytest.raises(ConfigError, match=r"own\.yaml:6: training\.backbone_settings: weights: none\.bin: expected"):
        check(tmp_path, fixed)
    check(tmp_path, STUDY.partition("vary")[0])
