"""From a cell and its settings to a `TrialSpec`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dml import discovery, models
from dml.config import InitFromSection, Study, stops_at_best
from dml.config import study as closed_forms
from dml.config.parts import ESTIMATED
from dml.config.search import default_every
from dml.data import splits
from dml.types import (
    Cell,
    DatasetSpec,
    EvaluationSpec,
    FilterSpec,
    InitFromSpec,
    LossSpec,
    MinerSpec,
    NoiseSpec,
    TrialSpec,
)

STOP_AT = "training.stop_at"
"""The setting that a search with `stop: best` adds to those of its best tuning trial. No study sets it."""

Describe = Callable[[str, str, float, int, str], Mapping[str, str]]
"""(dataset, noise, rate, seed, phase) -> the digests `packed`, `split` and `labels` of the data of such a trial."""

FindInitFrom = Callable[[InitFromSection, str, int], InitFromSpec]
"""(section, dataset, seed) -> the weights that such a trial starts from (`dml.sweep.store.init_from`)."""

EstimateRate = Callable[[TrialSpec], float | str]
"""A trial -> the share of its observed training labels that are wrong, as far as they tell (`sweep.inputs.rates`)."""


def build(
    study: Study,
    cell: Cell,
    phase: str,
    seed: int,
    settings: Mapping[str, Any],
    digests: Mapping[str, str],
    find_init_from: FindInitFrom | None = None,
    split: int = 0,
) -> TrialSpec:
    """What one trial runs: the cell, with `settings` (`loss.margin`, `training.learning_rate`, ...) filled in."""
    chosen: dict[str, dict[str, Any]] = {"loss": {}, "miner": {}, "training": {}, "filter": {}}
    of_parts = {k: v for k, v in cell.grid_point.items() if not k.startswith("training.")}
    for name, value in {**of_parts, **settings}.items():  # `training_of` fills in those of training
        room, _, key = name.partition(".")
        chosen[room][key] = value
    dataset = study.dataset(cell.dataset)
    noise = next(n for n in study.noise if n.label == cell.noise and cell.rate in n.rates)
    training, init_from = study.training_of(cell), None
    if training.init_from is not None:
        assert find_init_from is not None, "training.init_from needs the results of earlier studies"
        init_from = find_init_from(training.init_from, cell.dataset, seed)
    device = study.resources.device
    given = training.spec(device=device, init_from=init_from, **chosen["training"])
    fitted = closed_forms.training_of(cell.loss.name, given, images=dataset.passes_on is None)
    fitted = replace(fitted, backbone_settings=models.with_files(fitted.backbone, fitted.backbone_settings))
    if fitted.stop_at is not None and fitted.stop_at >= fitted.steps:
        fitted = replace(fitted, stop_at=None)  # the same trial as one that no search stops
    return TrialSpec(
        phase=phase,
        seed=seed,
        dataset=DatasetSpec(
            name=splits.data_name(cell.dataset, split),
            train_on=dataset.train_on,
            evaluate_on=tuple(dataset.evaluate_on),
            **digests,
        ),
        noise=NoiseSpec(cell.noise, cell.rate, dict(noise.settings)),
        loss=LossSpec(cell.loss.name, {**cell.loss.settings, **chosen["loss"]}),
        miner=_miner(study, cell, chosen["miner"]),
        training=fitted,
        evaluation=_evaluation(study, phase, fitted.steps),
        protocol=protocol_of(study, phase),
        filter=filter_of(cell, settings),
    )


def _evaluation(study: Study, phase: str, steps: int) -> EvaluationSpec:
    """What a trial measures. A tuning trial whose best step counts needs a curve, the untrained network included."""
    evaluation = study.evaluation.spec(phase)
    if not stops_at_best(study.search, phase):
        return evaluation
    return replace(evaluation, every=evaluation.every or default_every(steps), at_start=True)


def protocol_of(study: Study, phase: str) -> str:
    """The protocol of a phase's trials. Tuning is the same under every protocol, so its trials are shared."""
    return study.search.protocol if phase == "confirm" else TrialSpec.protocol


def _miner(study: Study, cell: Cell, chosen: Mapping[str, Any]) -> MinerSpec | None:
    if cell.miner is not None:
        return MinerSpec(name=cell.miner.name, settings={**cell.miner.settings, **chosen})
    if cell.positives is None or cell.negatives is None:
        return None
    return MinerSpec(cell.positives, cell.negatives, settings={**study.miner.settings, **chosen})


def filter_of(cell: Cell, settings: Mapping[str, Any]) -> FilterSpec | None:
    """The filter of a cell, with those of the `settings` that are named `filter.<setting>`; None without one.

    The rate that it assumes is `estimated`, and `with_rate` fills in the number, unless the study sets or searches it,
    or tells the filter the cell's noise rate.
    """
    if cell.filter is None:
        return None
    rate = discovery.accepted(discovery.find("dml.filters", cell.filter.name), {"rate": cell.rate})
    chosen = {name.removeprefix("filter."): value for name, value in settings.items() if name.startswith("filter.")}
    return FilterSpec(cell.filter.name, {**rate, **cell.filter.settings, **chosen})


def with_rate(spec: TrialSpec, rate: EstimateRate) -> TrialSpec:
    """The spec with the rate of wrong labels that its filter assumes, if that has to be estimated."""
    if spec.filter is None or spec.filter.settings.get("rate") != ESTIMATED:
        return spec
    return replace(spec, filter=replace(spec.filter, settings={**spec.filter.settings, "rate": rate(spec)}))
