"""Labels as given beside verified ones: in a user's table, and CIFAR-100N's."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from small_archives import makers, mirrored, quiet

from dml.data import DataError, sources, splits
from dml.data.packing import open_packed, pack

MAKE = makers()["cifar100-make"][1]
SHARED = Path(__file__).parents[4] / "shared" / "data"


@pytest.fixture
def packed_table(tmp_path):
    """A function that packs a table of one image a row, and returns its index and source."""

    def make_index(table, **options):
        for path in table["path"]:
            Image.new("L", (8, 8), 100).save(tmp_path / path)
        table.to_csv(tmp_path / "table.csv", index=False)
        source = sources.build("imagefolder", root=str(tmp_path), table=str(tmp_path / "table.csv"), **options)
        pack(source, tmp_path, tmp_path / "packed", report=quiet)
        return open_packed(tmp_path / "packed").index, source

    return make_index


def table(fine="aabbccdd", given="abbbccda", **columns):
    content = {"path": [f"{n}.png" for n in range(len(fine))], "fine": list(fine), "given": list(given)}
    return pd.DataFrame({**content, **columns})


def test_training_images_are_chosen_by_their_given_label(packed_table):
    index, source = packed_table(table(given="abbacdda"))
    assert index["given_fine"].tolist() == [0, 1, 1, 0, 2, 3, 3, 0]
    split = splits.make(index, source)
    # a and b train. The last image is of d, so it would be tested, but it was given the label a.
    assert split["final"].tolist() == ["train"] * 4 + ["test"] * 3 + ["unused"]
    assert split["final_given"].tolist() == ["train"] * 4 + ["unused"] * 3 + ["train"]
    # a fits, b validates: the image of b that was given the label a fits, so it cannot validate.
    assert split["tune"].tolist() == ["train", "train", "validation", "unused", *["unused"] * 4]
    assert split["tune_given"].tolist() == ["train", "unused", "unused", "train", *["unused"] * 3, "train"]


def test_a_class_that_nobody_gave_moves_no_other_role(packed_table):
    """Verification found the last two; without them c would be a class that tests."""
    index, source = packed_table(table("aabbccddeeff", "aabbccddcccc"))
    split = splits.make(index, source)
    assert split["final_given"].tolist() == ["train"] * 6 + ["unused"] * 2 + ["train"] * 4


def test_coarse_labels_follow_from_the_given_fine_ones(packed_table):
    index, _ = packed_table(table(coarse=list("xxxxyyyy")))
    assert index["given_coarse"].tolist() == [0, 0, 0, 0, 1, 1, 1, 0]


def test_without_given_labels_an_index_is_as_before(packed_table):
    index, source = packed_table(table().drop(columns="given"))
    assert not {"given_fine", "given_coarse", "verified"} & set(index)
    assert list(splits.make(index, source)) == list(splits.COLUMNS)


def test_unverified_labels_are_marked(packed_table):
    index, source = packed_table(table().drop(columns="fine"))
    assert index["fine"].tolist() == [0, 1, 1, 1, 2, 2, 3, 0]
    assert not index["verified"].any()
    assert list(splits.make(index, source)) == list(splits.COLUMNS)


GIVEN = pd.DataFrame({"index": [2, 0, 1], "noisy_fine": [0, 0, 50], "noisy_coarse": [3, 3, 3]})
GIVEN = GIVEN.assign(clean_fine=[50, 0, 49], clean_coarse=[3, 3, 4])


def cifar(given, tmp_path, monkeypatch, **options):
    """The index of the small archives with a file of given labels."""
    given.to_csv(tmp_path / "given.csv", index=False)
    options = {"complete": False, "given": str(tmp_path / "given.csv"), **options}
    source, raw, _ = mirrored("cifar100", MAKE, tmp_path, monkeypatch, **options)
    source.download(raw, quiet)
    pack(source, raw, tmp_path / "packed", report=quiet)
    return open_packed(tmp_path / "packed").index, source


def test_cifar100n(tmp_path, monkeypatch):
    index, source = cifar(GIVEN, tmp_path, monkeypatch)
    assert index["given_fine"].tolist() == [0, 50, 0, -1, -1]
    assert index["given_coarse"].tolist() == [3, 3, 3, -1, -1]
    assert source.fingerprint(tmp_path) != sources.build("cifar100").fingerprint(tmp_path)
    whole = sources.build("cifar100", held_out="images", complete=False)
    assert whole.roles(index).tolist() == ["train"] * 3 + ["seen"] * 2


def test_images_of_every_class_train_if_images_are_held_out():
    source = sources.build("cifar100", held_out="images", complete=False)
    index = pd.DataFrame({"fine": [0, 99, 0, 99], "coarse": [0, 19, 0, 19], "part": ["train", "train", "test", "test"]})
    assert source.roles(index).tolist() == ["train", "train", "seen", "seen"]
    with pytest.raises(ValueError, match=r"held_out: expected one of classes, images"):
        sources.build("cifar100", held_out="half")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (GIVEN[:2], "expected each of 0 to 2 once, got 2 rows"),
        (GIVEN.assign(index=[0, 0, 1]), "once, got 3 rows"),
        (GIVEN.assign(noisy_fine=[0, 100, 0]), "index 0: noisy_fine is 100, which is no class: expected 0 to 99"),
        (GIVEN.assign(clean_fine=[49, 0, 50]), "index 1: clean_fine is 50, but .* 49: .* another order .2 of 3 differ"),
        (GIVEN.drop(columns="noisy_coarse"), "no column 'noisy_coarse'"),
        (GIVEN.assign(noisy_fine=[0, None, 0]), "row 3: noisy_fine is '', expected an integer"),
    ],
)
def test_mistakes_in_a_file_of_given_labels(tmp_path, monkeypatch, wrong, message):
    with pytest.raises(DataError, match=message):
        cifar(wrong, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.skipif(not (SHARED / "cifar100n").is_dir(), reason="needs ../shared/data/cifar100n")
def test_the_rates_of_the_real_file():
    """40.2% of the fine labels are wrong, 26.4% of the coarse ones."""
    given = pd.read_csv(SHARED / "cifar100n" / "cifar100n.csv")
    from dml.data.sources.cifar100 import read_given

    own = {level: given[f"clean_{level}"].tolist() for level in ("fine", "coarse")}
    found = read_given(SHARED / "cifar100n" / "cifar100n.csv", own, {"fine": 100, "coarse": 20})
    rates = {level: float(np.mean(found[level] != own[level])) for level in found}
    assert rates == {"fine": 0.402, "coarse": 0.26404}
