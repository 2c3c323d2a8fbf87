"""A folder that is called as an optional package does not stand for it: the hint how to install it appears."""

import sys

import pytest
import torch

from dml import models
from dml.data.sources import Huggingface, cuhk03
from dml.evaluation import _search
from dml.models._wrapped import check_package
from dml.training import model_files


@pytest.fixture
def folder_of(tmp_path, monkeypatch):
    """Makes a folder of a package's name, beside which the package itself is not installed."""

    def make(*packages):
        for package in packages:
            (tmp_path / package).mkdir()
            monkeypatch.delitem(sys.modules, package, raising=False)
        monkeypatch.setattr(sys, "path", [str(tmp_path)])

    return make


@pytest.mark.parametrize(
    ("package", "use", "hint"),
    [
        ("datasets", lambda: Huggingface("owner/birds").download("raw"), "pip install 'noisy-dml.hub.'"),
        ("h5py", cuhk03._h5py, "pip install h5py"),
        ("timm", lambda: models.find("timm").check_installed({}), "pip install"),
        ("timm", lambda: check_package("timm", "this", "pipeline"), r"this needs the package timm.*\[pipeline\]"),
        ("faiss", lambda: _search.choose("faiss", torch.device("cpu")), "pip install faiss-cpu"),
        ("onnx", model_files.check_extra, r"\[onnx\]"),
    ],
)
def test_the_hint_appears(package, use, hint, folder_of):
    folder_of(package)
    with pytest.raises(ValueError, match=hint):
        use()
