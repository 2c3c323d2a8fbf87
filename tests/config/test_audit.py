"""The section `audit`, and noises with a name."""

from dml.config import audited_cell, audited_dataset

LOSSES = "title: t\ndatasets: [digits]\nlosses: [triplet, softmax]\npositives: [easy, random]\nnegatives: [hard]\n"


def test_the_only_dataset_is_audited(study):
    found = study("audit: {}\n")
    assert audited_dataset(found) == "digits"
    assert (found.audit.review_size, found.audit.training()) == (200, None)


def test_an_audit_changes_no_trial(study):
    assert study("audit: {}\n").digest == study().digest


def test_the_networks_are_those_of_the_first_cell_that_has_the_attributes(study):
    found = study("audit: {trained: true}\n", text=LOSSES)
    cell = audited_cell(found.audit, found)
    assert (cell.dataset, cell.loss.name, cell.positives) == ("digits", "triplet", "easy")
    found = study("audit: {trained: {positives: random}}\n", text=LOSSES)
    assert audited_cell(found.audit, found).positives == "random"
    assert found.audit.trained == {"positives": "random"}
    assert study("audit: {}\n", text=LOSSES).audit.trained is False
