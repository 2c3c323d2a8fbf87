"""Every source on small archives in its real layout: downloaded from a mirror, unpacked, packed, given roles."""

import urllib.error

import numpy as np
import pytest
from small_archives import downloads, makers, malformed, mirrored, quiet

from dml import discovery
from dml.data import DataError, sources
from dml.data.packing import open_packed, pack, packed_id
from dml.data.splits import ROLES

MAKERS, MALFORMED = makers(), malformed()
FETCHED = [name for name in discovery.names("dml.data.sources") if downloads(name)]


@pytest.fixture(params=MAKERS)
def made(request, tmp_path, monkeypatch):
    """A source with its archives in a mirror."""
    name, make = MAKERS[request.param]
    return mirrored(name, make, tmp_path, monkeypatch, **({"complete": False} if downloads(name) else {}))


@pytest.fixture(params=[key for key, (name, _) in MAKERS.items() if downloads(name)])
def fetched(request, tmp_path, monkeypatch):
    """A source that downloads its files, with `complete` True, and its archives in a mirror."""
    return mirrored(*MAKERS[request.param], tmp_path, monkeypatch)


def test_from_a_mirrors_archives_to_packed_images_and_roles(made, tmp_path):
    source, raw, small = made
    source.download(raw, quiet)
    manifest = pack(source, raw, tmp_path / "packed", 16, report=quiet)
    packed = open_packed(tmp_path / "packed")
    index, roles = packed.index, source.roles(packed.index)
    columns = index["fine"], index["coarse"], index["part"], roles, index["camera"]
    if small.rows is not None:
        expected = [(row.fine, row.coarse, row.part, row.role, row.camera) for row in small.rows]
        assert list(zip(*columns, strict=True)) == expected
        grey = [(pixel, row.grey) for pixel, row in zip(packed.images[:, 5, 5, 0].tolist(), small.rows, strict=True)]
        for got, wanted in grey:
            assert wanted is None or abs(got - wanted) <= 2
        assert (manifest["images"], manifest["channels"]) == (len(small.rows), small.channels)

    assert index["index"].tolist() == list(range(manifest["images"]))
    for column in ("index", "fine", "coarse", "camera", "height", "width"):
        assert index[column].dtype == np.int64
    assert index["path"].is_unique
    assert set(roles) <= set(ROLES)
    training = set(index["fine"][roles == "train"])
    assert training.isdisjoint(index["fine"][np.isin(roles, ["test", "query", "gallery"])])
    assert set(index["fine"][roles == "seen"]) <= training
    if "coarse" not in source.levels:
        assert (index["coarse"] == -1).all()
    assert source.disjoint in source.levels


def test_options_are_what_the_constructor_was_given(made):
    source, _, small = made
    left_out = set(discovery.settings_of(type(source))) - set(source.options)  # those that say nothing new
    assert left_out <= set(discovery.defaults_of(type(source)))
    assert small.options.items() <= source.options.items()
    again = sources.build(source.name, **source.options)
    assert packed_id(again) == packed_id(source)


def test_a_part_of_a_dataset_is_refused_unless_the_option_says_so(fetched, tmp_path):
    source, raw, small = fetched
    with pytest.raises(DataError, match=rf"{source.name}: .* has \d+ .*, expected \d+"):
        source.download(raw, quiet)
    assert [path.name for path in raw.iterdir() if path.suffix != ".lock"] == []
    part = sources.build(source.name, complete=False, **small.options)
    part.download(raw, quiet)
    with pytest.raises(DataError, match=rf"{source.name}: .* has \d+ .*, expected \d+"):
        pack(source, raw, tmp_path / "packed", 16, report=quiet)
    assert not (tmp_path / "packed").exists()


@pytest.mark.parametrize("case", MALFORMED)
def test_damaged_raw_files_raise_one_error_that_names_the_file_what_is_in_it_and_what_was_expected(
    case, tmp_path, monkeypatch
):
    name, make, (change, match) = MALFORMED[case]
    source, raw, _ = mirrored(name, make, tmp_path, monkeypatch, complete=False)
    source.download(raw, quiet)
    change(raw)
    with pytest.raises(DataError, match=match):
        list(source.images(raw))


@pytest.mark.parametrize("name", FETCHED)
def test_no_network_and_no_mirror_says_where_to_put_the_file(name, tmp_path, monkeypatch):
    def no_network(*arguments, **keywords):
        raise urllib.error.URLError("Name or service not known")

    if name == "cuhk03":
        pytest.importorskip("h5py", reason="cuhk03 is read by h5py, which is not installed")
    monkeypatch.delenv("DML_MIRROR", raising=False)
    monkeypatch.setattr("urllib.request.urlopen", no_network)
    source = sources.build(name)
    first = source.archives[0].name
    with pytest.raises(DataError) as raised:
        source.download(tmp_path / "raw", quiet)
    assert str(tmp_path / "raw" / first) in str(raised.value)
    assert "DML_MIRROR=<mirror>" in str(raised.value)
    assert f"<mirror>/{name}/{first}" in str(raised.value)


@pytest.mark.parametrize("name", FETCHED)
def test_archives_have_checksums_of_the_right_length(name):
    for archive in sources.build(name).archives:
        assert archive.md5 is None or len(bytes.fromhex(archive.md5)) == 16
        assert archive.sha256 is None or len(bytes.fromhex(archive.sha256)) == 32
        assert archive.md5 or archive.sha256
        assert archive.urls or archive.hint
