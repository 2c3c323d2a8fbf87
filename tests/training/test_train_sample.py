"""Which training images are evaluated, and sets in which no query has a match."""

import numpy as np
import pandas as pd
import pytest

from dml.training.data import check_pairs, sample


def sizes_of(sizes, most=10_000):
    """Of classes of these sizes in mixed order: the sample, and its images in each class that it contains."""
    classes = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)) * 3, sizes))
    rows = np.arange(len(classes)) * 2 + 1
    found = sample(rows, classes, most)
    label = dict(zip(rows.tolist(), classes.tolist(), strict=True))
    chosen, counts = np.unique([label[row] for row in found.tolist()], return_counts=True)
    assert (np.diff(found) > 0).all(), "in the order of the rows, each once"
    return found, dict(zip((chosen // 3).tolist(), counts.tolist(), strict=True))


def test_small_classes_stay_whole():
    """As in Online Products: 11,318 classes of 2 to 12 images."""
    sizes = np.random.default_rng(1).integers(2, 13, 11_318)
    found, counts = sizes_of(sizes)
    assert 9_980 <= len(found) <= 10_000
    assert all(count == sizes[label] for label, count in counts.items())
    assert np.mean(list(counts)) == pytest.approx(11_318 / 2, rel=0.1), "classes are drawn at random"

    """As in MNIST."""
    _, counts = sizes_of([6000, 5800, 6200, 5900, 6100, 90])
    assert counts == {0: 1666, 1: 1666, 2: 1666, 3: 1666, 4: 1666, 5: 90}

    _, counts = sizes_of([300] * 500)
    assert len(counts) == 100
    assert set(counts.values()) == {100}


def test_the_sample_is_pinned():
    """Another sample gives other scores, so a change of it needs another version of `Training`."""
    assert sample(np.arange(40), np.arange(40) // 4, 12).tolist() == [*range(16, 20), *range(28, 36)]
    large = sample(np.arange(800), np.arange(800) // 400, 202).reshape(2, 101)
    assert large[:, :3].tolist() == [[3, 5, 8], [405, 412, 413]]


@pytest.mark.parametrize(
    ("roles", "labels", "name", "paired"),
    [
        (["train", "train", "test", "test"], [0, 0, 1, 2], "test", False),
        (["train", "train", "test", "test"], [0, 1, 2, 2], "test", True),
        (["train", "seen", "seen"], [0, 0, 1], "seen", False),
        (["train", "train", "test", "test"], [0, 1, 2, 2], "validation", False),
        (["train", "query", "query", "gallery"], [0, 1, 1, 2], "test", False),
        (["train", "query", "query", "gallery"], [0, 1, 2, 2], "test", True),
    ],
)
def test_sets_in_which_a_query_has_a_match(roles, labels, name, paired):
    rows = np.arange(len(roles))[::-1]  # a split's rows may be in any order
    tune = ["validation" if role == "train" else "unused" for role in roles]
    split = pd.DataFrame({"index": rows, "final": roles[::-1], "tune": tune[::-1]})
    if paired:
        assert check_pairs(split, np.array(labels), name, "birds") is None
        return
    with pytest.raises(ValueError, match=rf"^dataset 'birds': .* in the evaluation set '{name}' .* two images"):
        check_pairs(split, np.array(labels), name, "birds")
