"""Reading a study's file and those that it extends, and the study as it ran, from the `attrs` of a table of trials."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Container, Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import dml
from dml import discovery
from dml.config.checks import check
from dml.config.data import DatasetSection
from dml.config.errors import LocatedError, explain, place_in, renamed, section_key
from dml.config.study import DECIDING, Study
from dml.config.terms import NAMES_ONLY, SPELT
from dml.data import DataError, batches, sources
from dml.files import LONGEST_NAME, is_study_name, study_files
from dml.papers import use_project
from dml.types import Cell

EXTENDS = "extends"
KEYS = ("tag:yaml.org,2002:str", "tag:yaml.org,2002:merge")  # text, and `<<`
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C, eight times as fast, where PyYAML was built with it


class ConfigError(ValueError):
    """A study that cannot run, with every problem in one message."""


def load_study(path: Path | str, parts: bool = True) -> Study:
    """Read and check a study. Raises ConfigError with one line per problem: `file:line: key: problem`.

    `extends: other` takes all settings of `other.yaml` in the same folder, then those of the file itself: mappings are
    merged, other values replaced, and `null` restores a default. Without `parts`, the settings of losses, networks and
    other parts are not checked, which would import them: such a study has no cells.
    """
    path = Path(path)
    files = _files(path)
    folder = path.resolve().parent
    if folder.parts[-2:] == ("pipelines", "studies"):
        if not is_study_name(path.stem):
            raise ConfigError(
                f"{path}: a study is called as its file: expected letters, digits and the signs . _ -, at most "
                f"{LONGEST_NAME} bytes; not .lock or .journal at the end, nor _index, _claims or _theory"
            )
        use_project(folder.parents[1])
    try:
        return study_from(_content(files), path.stem, parts)
    except ValueError as error:
        raise ConfigError(explain([(file, text) for file, text, _ in files], Study, error)) from None


def study_from(content: Mapping[str, Any], name: str = "", parts: bool = True) -> Study:
    """The study with these settings, checked as a whole. Raises ValueError, which `explain` finds in the file."""
    content = renamed(content)
    reading = NAMES_ONLY.set(True)  # what is wrong without a look at any part is said within a second
    try:
        study = Study(**{**content, "name": name})
    finally:
        NAMES_ONLY.reset(reading)
    if parts:
        study, training = Study(**{**content, "name": name}), content.get("training")
        _check_truth(content, study.model_dump())
        check(study, stated=training if isinstance(training, Mapping) else ())
    return study.with_pixels()


def place_of(path: Path | str, *location: str | int) -> str:
    """`file:line: key` of a setting of a study, for a problem that is found only when the study runs."""
    return place_in([(file, text) for file, text, _ in _files(Path(path))], *location)


def text_digest(path: Path) -> str:
    """Of the texts of a study's file and of those that it extends. Raises as `load_study` does for these."""
    return hashlib.sha256("".join(text for _, text, _ in _files(path)).encode()).hexdigest()


def _check_truth(content: Any, read: Any, *location: str | int) -> None:
    """That no truth value of a file was read as a number: pydantic takes `true` for 1."""
    if isinstance(content, bool) and isinstance(read, int | float) and not isinstance(read, bool):
        raise LocatedError(f"expected a number, got {content!r}", *location)
    if isinstance(content, Mapping) and isinstance(read, Mapping):
        for key in content.keys() & read.keys():
            _check_truth(content[key], read[key], *location, key)
    elif isinstance(content, list) and isinstance(read, list | tuple) and len(content) == len(read):
        for position, (stated, value) in enumerate(zip(content, read, strict=True)):
            _check_truth(stated, value, *location, position)


def content_of(path: Path | str) -> dict[str, Any]:
    """A study's settings as its file and those that it extends state them, with the names of the code."""
    return _content(_files(Path(path)))


def _content(files: list[tuple[Path, str, dict[str, Any]]]) -> dict[str, Any]:
    return reduce(_merged, (stated for _, _, stated in reversed(files)), {})


def _files(path: Path) -> list[tuple[Path, str, dict[str, Any]]]:
    """Each file's path, text and own settings, from the study to the last one that is extended."""
    files: list[tuple[Path, str, dict[str, Any]]] = []
    where = str(path)
    while True:
        if not path.is_file():
            studies = [file.stem for file in study_files(path.parent)]
            raise ConfigError(f"{where}: no such study{discovery.suggestion(path.stem, studies)}")
        if path in [file for file, _, _ in files]:
            chain = " -> ".join(file.stem for file, _, _ in files)
            raise ConfigError(f"{where}: {chain} -> {path.stem}: a study cannot extend itself")
        text, content = _read(path)
        base = content.pop(EXTENDS, None)
        try:
            content = renamed(content, of_file=True)
        except LocatedError as error:
            raise ConfigError(explain([(path, text)], Study, error)) from None
        files.append((path, text, content))
        if base is None:
            return files
        if not isinstance(base, str):
            raise ConfigError(f"{path}: {EXTENDS}: expected the name of a study, got {base!r}")
        where, path = f"{path}: {EXTENDS}: {base!r}", path.with_name(f"{base}.yaml")


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: expected text in UTF-8, got byte {error.object[error.start]:#x} at {error.start}"
        ) from None
    try:
        wrong = list(_wrong_keys(yaml.compose(text, LOADER)))
        content = yaml.load(text, LOADER)
    except yaml.YAMLError as error:
        raise ConfigError(_not_yaml(path, error)) from error
    if wrong:
        raise ConfigError("\n".join(f"{path}:{line}: {problem}" for line, problem in wrong))
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: expected a mapping of settings, got {type(content).__name__}")
    return text, content


def _not_yaml(path: Path, error: yaml.YAMLError) -> str:
    """The file, the line and the problem of text that cannot be parsed."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return f"{path}: not YAML: {error}"
    begun = f" ({error.context} from line {error.context_mark.line + 1})" if error.context_mark else ""
    return f"{path}:{error.problem_mark.line + 1}: not YAML: {error.problem}{begun}"


def _wrong_keys(node: yaml.Node | None, path: str = "") -> Iterator[tuple[int, str]]:
    """Line and problem of each key that is no text (YAML reads `on` as true), or that a mapping contains twice."""
    if isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            yield from _wrong_keys(item, f"{path}[{number}]")
    elif isinstance(node, yaml.MappingNode):
        first: dict[str, int] = {}
        for key, value in node.value:
            name, line = f"{path}.{key.value}".lstrip("."), key.start_mark.line + 1
            if key.tag not in KEYS:
                yield line, f"{name}: expected text as a key, got {key.tag.rpartition(':')[2]}; text has quotes"
            if name in first:
                yield line, f"{name}: this key is given twice, in lines {first[name]} and {line}: remove one"
            first.setdefault(name, line)
            yield from _wrong_keys(value, name)


def _merged(base: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the settings of `stated`; a setting that is None is removed."""
    merged = dict(base)
    for key, value in stated.items():
        before = merged.get(key)
        if value is None and key in merged:
            del merged[key]
        elif isinstance(value, Mapping) and isinstance(before, Mapping):
            merged[key] = _merged(before, value)
        else:
            merged[key] = value
    return merged


def check_files(study: Study, path: Path) -> None:
    """Reject a study whose backbones need missing packages, or files of weights that are missing or of another kind.

    Studies are valid without their files: the report shows published results on machines that have none.
    """
    checked = set()
    for cell in study.cells():
        training = study.training_of(cell)
        if (network := repr((training.backbone, training.backbone_settings))) in checked:
            continue
        checked.add(network)
        setting = "training.backbone"
        try:
            dml.models.find(training.backbone).check_installed(training.backbone_settings)
            setting = "training.backbone_settings"
            dml.models.with_files(training.backbone, training.backbone_settings)
        except ValueError as error:
            raise ConfigError(f"{place_of(path, *location(study, cell, setting))}: {error}") from None


def check_data(
    study: Study, path: Path, packed: Container[str] = (), tunes: Callable[[Cell], object] = lambda cell: False
) -> None:
    """Reject a study whose data stages would fail: a user's own files are missing, or classes are too few for a batch.

    `tunes` says whether a cell's settings are searched, with half of the training classes.
    """
    for index, dataset in enumerate(study.datasets):
        if dataset.label not in packed:
            _check_exist(path, sources.find(dataset.name), dataset.settings, "datasets", index, "settings")
    for index, noise in enumerate(study.noise):
        _check_exist(path, discovery.find("dml.noise", noise.name), noise.settings, "noise", index, "settings")
    _check_batches(study, path, tunes)


def _check_exist(path: Path, part: type, settings: Mapping[str, Any], *where: str | int) -> None:
    for key in getattr(part, "file_settings", ()):
        value = settings.get(key)
        if value is not None and not Path(str(value)).exists():  # YAML reads the folder 2024 as a number
            problem = f"{value!r} does not exist (from {Path.cwd()})"
            raise ConfigError(f"{place_of(path, *where, key)}: {problem}")


def _check_batches(study: Study, path: Path, tunes: Callable[[Cell], object]) -> None:
    """That a batch has no more classes than train, as far as a source states them or a person's files say."""
    counts = {dataset.label: _training_classes(study, dataset) for dataset in study.datasets}
    for cell in study.cells():
        batch = study.training_of(cell).batch
        if batches.find(batch.sampler).needs_coarse:
            continue
        for phase, classes in counts[cell.dataset].items():
            if phase and not (study.search.protocol == "train_val_test" or tunes(cell)):
                continue
            try:
                labels = np.arange(classes).repeat(batch.per_class)
                batches.build(batch.sampler, labels=labels, classes=batch.classes, per_class=batch.per_class)
            except ValueError:
                problem = f"{batch.classes} classes per batch, but dataset {cell.dataset!r} trains on {classes}{phase}"
                place = place_of(path, *location(study, cell, "training.batch"))
                advice = f"set training.batch.classes to at most {classes}"
                raise ConfigError(f"{place}: {problem}: {advice}") from None


def _training_classes(study: Study, dataset: DatasetSection) -> dict[str, int]:
    """How many classes train, and how many of them when settings are tuned; empty if only the data stages can tell."""
    import pandas as pd

    from dml.data import splits
    from dml.data.packing.listing import fields_of

    half = " while it tunes"
    source = sources.build(dataset.name, **dataset.settings)
    if classes := source.counts.get("train", {}).get(dataset.train_on):
        # half of the classes that splits are made of may have all those of the other level
        return {"": classes, half: (classes + 1) // 2 if dataset.train_on == source.disjoint else classes}
    try:
        records = [] if study.folds else list(source.images(Path()))
        index = pd.DataFrame([fields_of(record) for record in records])
        split = next(iter(splits.by_seed(index.assign(index=range(len(index))), source).values()))
        labels = index[dataset.train_on]
    except (DataError, ValueError, OSError, LookupError):
        return {}
    if "given_fine" in records[0]:
        return {}
    return {phase: labels[split[column] == "train"].nunique() for phase, column in (("", "final"), (half, "tune"))}


def location(study: Study, cell: Cell, setting: str) -> tuple[str | int, ...]:
    """Where a study states a setting, or a section, of a cell: keys and positions of lists."""
    for axis, points in study.axes.items():
        for position, point in enumerate(points):
            varying = {key: value for key, value in point.items() if key == setting or key.startswith(f"{setting}.")}
            if varying and all(cell.grid_point.get(key) == value for key, value in varying.items()):
                return "grid", axis, position
    room, _, rest = setting.partition(".")
    return tuple(filter(None, (room, *section_key(room, rest).split("."))))


ATTRIBUTE = "study"  # of a table of trials
KEPT = {*DECIDING, "recipe"}
REMOVED = {"evaluation": ("keep_start_embeddings",)}
"""Settings that studies ran with and that decided no score: their records are read without them."""


def record(study: Study) -> str:
    """What decides a study's trials, as JSON that `recorded` reads."""
    return json.dumps(study.model_dump(mode="json", include=KEPT, context=SPELT), separators=(",", ":"))


def recorded(text: str, today: Study) -> Study:
    """The study that `record` has written, with what today's file only says about it."""
    ran = json.loads(text)
    if not isinstance(ran, dict):
        raise ValueError(f"expected a mapping of settings, got {type(ran).__name__}")
    for section, settings in REMOVED.items():
        ran[section] = {name: value for name, value in ran.get(section, {}).items() if name not in settings}
    about = {name: getattr(today, name) for name in Study.model_fields if name not in KEPT}
    return Study(**{**about, **{name: value for name, value in renamed(ran).items() if name in KEPT}})
