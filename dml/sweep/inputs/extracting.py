"""Computes the features and activations that a study needs, on the workers of Ray where there is much to compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dml.config import ResourcesSection, Study, audited_dataset, closed_forms
from dml.sweep.execution.tasks import in_workers
from dml.training.data import open_packed_of
from dml.training.frozen.extraction import Extraction, Run, extract, in_process
from dml.training.frozen.opening import is_complete
from dml.training.frozen.recipe import features_id, of_each_view, of_whole_backbone, recipe
from dml.training.frozen.shapes import stored_bytes
from dml.types import TrainingSpec

FEW = 2  # shards that are computed sooner than Ray starts


def frozen_trainings(study: Study, dataset: str) -> list[TrainingSpec]:
    """The settings of the study's frozen trials on a dataset of images, and of those that `stored_trainings` adds.

    Without those of mirror images.
    """
    return [training for training in stored_trainings(study, dataset) if training.frozen and not training.mirrored]


def stored_trainings(study: Study, dataset: str) -> list[TrainingSpec]:
    """The settings of the study's trials on stored features or activations of a dataset of images.

    With those on activations come those on the features of the whole backbone, from which such trials start, with the
    method `free` those of several layers, and with `evaluation.views: mirror` those of the mirror images.
    """
    if study.dataset(dataset).passes_on is not None:
        return []
    device = study.resources.device
    cells = [cell for cell in study.cells() if cell.dataset == dataset]
    found = []
    for cell in cells:
        spec = study.training_of(cell).spec(device=device)
        if spec.stored:
            own = closed_forms.training_of(cell.loss.name, spec, images=True)
            found += [spec, of_whole_backbone(spec), *([own] if own.layers else [])]
    return _of_each_view(study, found)


def _of_each_view(study: Study, specs: Sequence[TrainingSpec]) -> list[TrainingSpec]:
    """The settings, each once, and for each those of all views that the study evaluates."""
    return list({repr(one): one for spec in specs for one in of_each_view(spec, study.evaluation.views)}.values())


def _all_stored(study: Study, dataset: str) -> list[TrainingSpec]:
    """The settings of all stored features and activations of a dataset: of trials, and of the section `audit`."""
    return [*stored_trainings(study, dataset), *_of_each_view(study, audited_trainings(study, dataset))]


def bytes_to_store(study: Study, dataset: str, manifest: Mapping[str, Any], store: Path) -> int:
    """Bytes of the features and activations of a dataset that are yet to be computed, as far as known.

    Parameters
    ----------
    manifest : `height`, `width` and `channels` of its images, with `images` and `digest` if they are known.
    store : the folder of all features.

    Raises
    ------
    ValueError : the backbone rejects its settings, or its file of weights is missing.
    """
    needed = {features_id(recipe(spec, {"digest": "", **manifest})): spec for spec in _all_stored(study, dataset)}
    return sum(stored_bytes(spec, manifest) for name, spec in needed.items() if not is_complete(store / name))


def audited_trainings(study: Study, dataset: str) -> list[TrainingSpec]:
    """The network whose features the study's section `audit` asks for, as the settings of a frozen trial."""
    own = None if study.audit is None or audited_dataset(study.audit, study) != dataset else study.audit.training()
    return [] if own is None else [own.spec(device=study.resources.device)]


def extract_all(
    study: Study, data_root: Path, store: Path, report: Callable[[str], None] = print
) -> dict[str, dict[str, Path]]:
    """The folders of the features and activations that a study needs, by dataset and id; computed if they are missing.

    Those of its trials on them, and of the network that its section `audit` names.

    Parameters
    ----------
    data_root : the folder with the data stages' outputs (`data/<study>`).
    store : the folder of all features.

    Raises
    ------
    ValueError, OSError : as `dml.training.frozen.extraction.extract`.
    ConnectionError : the cluster does not answer.
    """
    found: dict[str, dict[str, Path]] = {}
    for label in (dataset.label for dataset in study.datasets):
        packed = open_packed_of(data_root, label)
        needed = {features_id(recipe(spec, packed.manifest)): spec for spec in _all_stored(study, label)}
        run = over_ray(study.resources)
        found[label] = {name: extract(packed, spec, store, run, report) for name, spec in needed.items()}
    return found


def over_ray(resources: ResourcesSection) -> Run:
    """A function that writes shards on Ray's workers, with a trial's resources each; a few shards in this process."""

    def run(work: Extraction, shards: Sequence[int]) -> Iterator[int]:
        if len(shards) <= FEW:
            yield from in_process(work, shards)
            return
        for done in in_workers(resources, Extraction.write, [(work, shard) for shard in shards]):
            yield from done

    return run
