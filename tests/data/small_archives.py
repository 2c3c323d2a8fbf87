"""Write small archives in the layout of real datasets.

The test file of each source has functions `make*(folder)` that write its raw archives into a folder and return a
`Small`, and perhaps a table `MALFORMED` of damaged raw files. The contract suite finds both, and the golden tests the
functions, with `makers` and `malformed`. A source that fetches nothing and needs no options is tested without.
"""

import gzip
import importlib.util
import io
import struct
import tarfile
import zipfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy.io import savemat

from dml import discovery
from dml.data import sources, splits
from dml.data.packing import Packed, open_packed, pack
from dml.protocols import Source

HERE = Path(__file__).parent / "sources"


def quiet(line: str) -> None:
    """A report that goes nowhere."""


class Row(NamedTuple):
    """What packing should find for one image."""

    fine: int
    coarse: int
    part: str
    role: str
    grey: int | None  # the value of all its pixels; None: not uniform
    camera: int = -1


class Small(NamedTuple):
    """A small dataset."""

    options: dict[str, Any]
    rows: list[Row] | None  # None: not known
    channels: int = 3


@cache
def own_test(name: str) -> ModuleType | None:
    """The test file of a source, if it has one."""
    path = HERE / f"test_{name}.py"
    if not path.is_file():
        return None
    spec = importlib.util.spec_from_file_location(f"makers_of_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def makers() -> dict[str, tuple[str, Callable[[Path], Small]]]:
    """`<source>-<maker>` -> the source's name and its function, for every source there is."""
    found = {}
    for name in discovery.names("dml.data.sources"):
        module = own_test(name)
        if module is None:
            found[f"{name}-make"] = (name, partial(_nothing, name))
            continue
        functions = {key: value for key, value in vars(module).items() if key.startswith("make") and callable(value)}
        assert functions, f"{module.__file__} has no function `make`"
        found |= {f"{name}-{key}": (name, function) for key, function in functions.items()}
    return found


Damage = tuple[Callable[[Path], Any], str]  # changes raw files; the error that is expected


def malformed() -> dict[str, tuple[str, Callable[[Path], Small], Damage]]:
    """`<source>-<case>` -> the source's name, its function `make`, and the case of its `MALFORMED`."""
    found = {}
    for name in discovery.names("dml.data.sources"):
        module = own_test(name)
        for case, damage in getattr(module, "MALFORMED", {}).items():
            found[f"{name}-{case}"] = (name, module.make, damage)
    return found


def _nothing(name: str, folder: Path) -> Small:
    needed = [p.name for p in discovery.settings_of(sources.find(name)).values() if p.default is p.empty]
    if downloads(name) or needed:
        pytest.fail(f"source {name!r} needs its own test, {HERE / f'test_{name}.py'}, with a function `make`")
    return Small({}, None)


class Mirrored(NamedTuple):
    """A source whose archives are in a mirror."""

    source: Source
    raw: Path  # not downloaded yet
    small: Small


def mirrored(
    name: str, make: Callable[[Path], Small], folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any
) -> Mirrored:
    """Write the archives of a source into a mirror below `folder`, and build the source with more options."""
    (folder / "mirror" / name).mkdir(parents=True)
    small = make(folder / "mirror" / name)
    monkeypatch.setenv("DML_MIRROR", str(folder / "mirror"))
    return Mirrored(sources.build(name, **small.options, **options), folder / "raw", small)


def downloads(name: str) -> bool:
    """Whether a source fetches archives: it then has the option `complete`."""
    return "complete" in discovery.settings_of(sources.find(name))


def edited(name: str, old: bytes, new: bytes) -> Callable[[Path], Any]:
    """Replaces bytes of a file below the raw folder."""

    def edit(raw: Path) -> None:
        content = (raw / name).read_bytes()
        assert content.count(old) >= 1
        (raw / name).write_bytes(content.replace(old, new, 1))

    return edit


def rewritten(name: str, make: Callable[[], bytes]) -> Callable[[Path], Any]:
    """Replaces a file below the raw folder."""
    return lambda raw: (raw / name).write_bytes(make())


def packed_of(source: Source, folder: Path, said: Callable[[str], Any] = quiet, **options: Any) -> Packed:
    """The packed images of a source of a user's own files, in the folder `packed`."""
    source.download(folder / "raw", said)
    pack(source, folder / "raw", folder / "packed", report=quiet, **options)
    return open_packed(folder / "packed")


def read(source: Source, folder: Path) -> tuple[pd.DataFrame, str]:
    """The packed index of a user's own files with roles and each image's first value, and what was said of them."""
    lines: list[str] = []
    packed = packed_of(source, folder, lines.append)
    roles = splits.make(packed.index, source)["final"]
    return packed.index.assign(role=roles, grey=packed.images[:, 0, 0, 0]), "\n".join(lines)


def encoded(value: int, form: str = "JPEG", size: tuple[int, int] = (12, 10), mode: str = "RGB") -> bytes:
    """An image of one grey value, which JPEG keeps within one or two steps."""
    file = io.BytesIO()
    colour = value if mode in ("L", "1") else (value,) * 3
    Image.new(mode, size, colour).save(file, form)
    return file.getvalue()


def tar(path: Path, members: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def zipped(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def matfile(**content: Any) -> bytes:
    file = io.BytesIO()
    savemat(file, content)
    return file.getvalue()


def idx(array: np.ndarray) -> bytes:
    head = struct.pack(f">{1 + array.ndim}i", 0x800 + array.ndim, *array.shape)
    return gzip.compress(head + array.astype(np.uint8).tobytes())
