"""Which files of a project `dml` wrote. All others are people's: none is overwritten or deleted.

The outputs of stages have known names and contents. A folder with files of any name (the report, an audit, tables of
splits and labels) lists those that `dml` wrote in `.written.json`. `dvc.yaml` has `persist`: stages delete.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dml import files

MANIFEST = ".written.json"
REQUEST, REVIEW = "request.json", "review.csv"  # of `pipelines/audits/<study>`, see `dml.audit.study`
RESOLVED = ("study.yaml", "datasets.yaml")
KEYS = {  # of the JSON that stages write, one below the other; `*`: each
    "download.json": ("*", "source"),
    "pack.json": ("*", "folder"),
    "features.json": ("*", "*", "folder"),
    "audit.json": ("suspects",),
    "summary.json": ("cells",),
}
COLUMNS = {"split": {"index", "final", "tune"}, "noise": {"index", "observed", "flipped"}}  # by a part of the path
COLUMNS["trials.parquet"] = {"loss", "status"}
DATA, TABLES, RESULTS = (*RESOLVED, *list(KEYS)[:4]), ("split", "noise"), ("trials.parquet", "summary.json")
PLACES = [f"data/*/{name}" for name in DATA] + [f"results/*/{name}" for name in RESULTS]
SHOWN = 3  # files that a message names


def check(root: Path, studies: Iterable[str] = (), folders: Iterable[str] = ("report",)) -> None:
    """Refuse to run while people's files are where outputs go."""
    strangers = [path for study in studies for path in _in_the_way(root, study)]
    strangers += [path for folder in folders for path in foreign(root / folder)]
    if strangers:
        raise ValueError(refusal(list(dict.fromkeys(strangers)), root))


def refusal(strangers: Collection[Path], root: Path) -> str:
    """The message about files of people."""
    names = [os.path.relpath(path, root) for path in strangers]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    rename = ", or rename the study" if names[0].split(os.sep)[0] in ("audit", "data", "results") else ""
    return (
        f"{', '.join(names[:SHOWN])}{more}: dml writes there, and this is not what it wrote. Move it away{rename}. "
        "Nothing was overwritten or deleted"
    )


def is_output(path: Path) -> bool:
    """Whether a stage wrote a file of `data/<study>` or `results/<study>`."""
    if not path.is_file():
        return False
    if path.suffix == ".parquet":
        return _is_stage_table(path)
    if path.name in RESOLVED:
        return _is_resolved(path.parent)
    return path.name in KEYS and _has(files.read_json(path), KEYS[path.name])


def others(folder: Path) -> list[Path]:
    """The files below a folder of a study's outputs that no stage wrote, and DVC did not."""
    return [path for path in _files(folder) if path.name != ".gitignore" and not is_output(path)]


def tidy(folder: Path, written: Collection[Path]) -> None:
    """Delete the tables that stages wrote before, but for those that were written now, and list these."""
    for path in _tables(folder):
        if path not in written:
            _delete(path, folder)
    files.write_json(folder / MANIFEST, {path.relative_to(folder).as_posix(): [] for path in written})


def foreign(out: Path) -> list[Path]:
    """People's files that are in the way of a folder that `replaced` writes.

    All of them where `dml` has not written yet; else those in place of its own.
    """
    if os.path.lexists(out) and not out.is_dir():
        return [out]
    listed = _listed(out)
    if listed is None:
        return [path for path in _files(out) if not _is_hidden(path, out)]
    there = [out / name for name in listed if os.path.lexists(out / name)]
    return [path for path in there if not _is_unchanged(path, out, listed)]


def occupied(out: Path, names: Iterable[str]) -> list[Path]:
    """People's files where `replaced` would write files of these names."""
    listed = _listed(out) or {}
    there = [path for name in names if (path := _at(out, name)) is not None]
    return [path for path in there if not _is_unchanged(path, out, listed)]


@contextmanager
def replaced(out: Path) -> Iterator[Path]:
    """A new, empty folder, whose files replace those that the last call wrote into `out`. Files of others stay.

    If the block raises an error, `out` is unchanged.
    """
    out = out.resolve()
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as folder:
        yield Path(folder)
        new = {path.relative_to(folder).as_posix(): [_digest(path)] for path in _files(Path(folder))}
        before = _listed(out) or {}
        if strangers := occupied(out, new):
            raise ValueError(refusal(strangers, Path.cwd()))
        out.mkdir(exist_ok=True)
        both = {name: [*new.get(name, ()), *before.get(name, ())] for name in {*new, *before}}
        files.write_json(out / MANIFEST, both)  # a process that is killed below leaves only files that are listed
        for name in new:
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(Path(folder, name), out / name)
        for name in before.keys() - new.keys():
            if _is_unchanged(out / name, out, before):
                _delete(out / name, out)
        files.write_json(out / MANIFEST, new)


def clean(root: Path) -> list[Path]:
    """Delete the outputs of all stages. Returns the files of others in their folders, which stay."""
    outputs = [path for pattern in PLACES for path in root.glob(pattern) if is_output(path)]
    outputs += root.glob("data/.versions/*.json")
    for folder in (folder for name in TABLES for folder in root.glob(f"data/*/{name}")):
        outputs += [*_tables(folder), folder / MANIFEST]
    for folder in (root / "report", *(root / "audit").glob("*")):
        listed = _listed(folder) or {}
        there = [path for name in listed if _is_unchanged(path := folder / name, folder, listed)]
        outputs += [*there, folder / MANIFEST] if there else []
    for path in outputs:
        _delete(path, root)
    return [path for name in ("data", "results", "report", "audit") for path in _files(root / name)]


def _in_the_way(root: Path, study: str) -> Iterator[Path]:
    data, results = root / "data" / study, root / "results" / study
    for path in (data.parent, data, results.parent, results):
        if os.path.lexists(path) and not path.is_dir():
            yield path
            return
    for path in (*(data / name for name in DATA), *(results / name for name in RESULTS)):
        if os.path.lexists(path) and not is_output(path):
            yield path
    for name in TABLES:
        folder = data / name
        if os.path.lexists(folder) and not folder.is_dir():
            yield folder
            continue
        strangers = [path for path in others(folder) if not _is_hidden(path, folder)]
        written = any(map(is_output, folder.rglob("*.parquet")))
        yield from (path for path in strangers if not written or path.suffix == ".parquet")  # as the stage's own names


def _tables(folder: Path) -> list[Path]:
    """The tables of stages below a folder: of those that are listed, or of all where nothing is."""
    listed = _listed(folder)
    paths = folder.rglob("*.parquet") if listed is None else [folder / name for name in listed]
    return [path for path in paths if is_output(path)]


def _is_stage_table(path: Path) -> bool:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        names = set(pq.read_schema(path).names)
    except (OSError, pa.ArrowException):
        return False
    return any(COLUMNS[part] <= names for part in COLUMNS.keys() & set(path.parts))


def _is_resolved(folder: Path) -> bool:
    """Whether `study.yaml` and `datasets.yaml` are as the stage `resolve` writes them, which go together."""
    import yaml

    try:
        texts = [(folder / name).read_text(encoding="utf-8") for name in RESOLVED]
        study, datasets = contents = [yaml.safe_load(text) for text in texts]
        dumped = [yaml.safe_dump(content, sort_keys=False, allow_unicode=True) for content in contents]
        named = datasets["datasets"] if isinstance(datasets, dict) else datasets
        return dumped == texts and study["datasets"] == named
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError):
        return False


def _has(content: Any, keys: tuple[str, ...]) -> bool:
    """Whether JSON has these keys, one below the other. An empty object has them: nothing in it can be lost."""
    if not keys or content == {}:
        return True
    if not isinstance(content, dict):
        return False
    below = content.values() if keys[0] == "*" else [content[keys[0]]] if keys[0] in content else []
    return bool(below) and all(_has(value, keys[1:]) for value in below)


def _listed(out: Path) -> dict[str, list[str]] | None:
    content = files.read_json(out / MANIFEST)
    return content if isinstance(content, dict) else None


def _is_unchanged(path: Path, out: Path, listed: Mapping[str, list[str]]) -> bool:
    """Whether a file is as `replaced` wrote it."""
    digests = listed.get(path.relative_to(out).as_posix(), ())
    return bool(digests) and path.is_file() and _digest(path) in digests


def _at(out: Path, name: str) -> Path | None:
    """What is where a file would be written: at its path, or in place of a folder above it."""
    path = out
    for part in Path(name).parts[:-1]:
        path = path / part
        if os.path.lexists(path) and not path.is_dir():
            return path
    return out / name if os.path.lexists(out / name) else None


def _digest(path: Path) -> str:
    return files.sha256(path)[:16]


def _files(folder: Path) -> list[Path]:
    """All files and links below a folder, but for the list of `replaced`."""
    paths = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return sorted(path for path in paths if path.name != MANIFEST)


def _is_hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


def _delete(path: Path, root: Path) -> None:
    """Delete a file, and the folders above it that are then empty."""
    path.unlink(missing_ok=True)
    for folder in path.parents:
        if folder == root:
            return
        with suppress(OSError):
            folder.rmdir()
