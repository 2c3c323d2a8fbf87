"""The section `audit`, and noises with a name."""

from dml.config import audited_cell, audited_dataset, load_study

STUDY = """\
title: t
datasets: [digits]
losses: [triplet]
"""


def load(tmp_path, text):
    path = tmp_path / "s.yaml"
    path.write_text(text)
    return load_study(path)


def test_the_only_dataset_is_audited(tmp_path):
    study = load(tmp_path, STUDY + "audit: {}\n")
    assert audited_dataset(study) == "digits"
    assert (study.audit.review_size, study.audit.training()) == (200, None)


def test_an_audit_changes_no_trial(tmp_path):
    plain = load(tmp_path, STUDY)
    assert load(tmp_path, STUDY + "audit: {}\n").digest == plain.digest


def test_the_networks_are_those_of_the_first_cell_that_has_the_attributes(tmp_path):
    text = STUDY.replace("[triplet]", "[triplet, softmax]") + "positives: [easy, random]\nnegatives: [hard]\n"
    study = load(tmp_path, text + "audit: {trained: true}\n")
    cell = audited_cell(study.audit, study)
    assert (cell.dataset, cell.loss.name, cell.positives) == ("digits", "triplet", "easy")
    study = load(tmp_path, text + "audit: {trained: {positives: random}}\n")
    assert audited_cell(study.audit, study).positives == "random"
    assert study.audit.trained == {"positives": "random"}
    assert load(tmp_path, text + "audit: {}\n").audit.trained is False
