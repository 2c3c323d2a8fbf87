"""What is compared: methods, and what they are called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dml.config import grid
from dml.config.for_use import NOT_TUNED, RATE_NOT_TUNED, mark
from dml.config.parts import LossSection, filter_text, is_told
from dml.report.labels import Texts, joined, readable, value_label
from dml.types import Cell, Part


@dataclass(frozen=True)
class Method:
    """What is compared: a loss with its fixed settings, and how its tuples are chosen."""

    loss: str
    positives: str  # "" if the loss or a foreign miner chooses
    negatives: str  # "" if the loss takes no tuples; `all-pairs`, or a foreign miner, without policies
    filter: str = ""  # as `filter_label` says; "" without one
    settings: str = ""  # those that vary: `per class 2, steps 100`

    @property
    def variant(self) -> str:
        """`filter prism, per class 2`."""
        return ", ".join(filter(None, (self.filter and f"filter {self.filter}", self.settings)))

    @property
    def label(self) -> str:
        """`triplet, easy + semihard random; per class 2`."""
        tuples = " + ".join(filter(None, (self.positives, self.negatives)))
        return readable(", ".join(filter(None, (self.loss, tuples)))) + (f"; {self.variant}" if self.variant else "")

    @property
    def panel(self) -> str:
        """What a panel of a figure shows, if its lines are choices of tuples: `triplet; per class 2`."""
        return readable(self.loss) + (f"; {self.variant}" if self.variant else "")

    @property
    def unfiltered(self) -> Method:
        """The method without its filter."""
        return replace(self, filter="")

    @property
    def bare(self) -> Method:
        """The method without the settings that vary, and without its filter."""
        return replace(self, filter="", settings="")


def filter_label(part: Part) -> str:
    """What pages call a filter: `prism`, `prism(rate=0.2)`, or `prism (oracle)` for one that is told the true rate."""
    return value_label(f"{part.text} (oracle)" if is_told(part) else filter_text(part))


def is_oracle(cell: Cell) -> bool:
    """Whether a cell's filter is told the true rate of wrong labels, which nobody knows who trains."""
    return cell.filter is not None and is_told(cell.filter)


def further(cell: Cell) -> dict[str, Any]:
    """`Cell.further`, with the filter as pages call it."""
    return {**cell.further, **({} if cell.filter is None else {"filter": filter_label(cell.filter)})}


def method_of(cell: Cell, labels: Mapping[str, str], shared: Mapping[str, Any]) -> Method:
    settings_of_loss = {key: value for key, value in sorted(cell.loss.settings.items()) if key not in shared}
    loss = cell.loss.name.rpartition(".")[2]
    texts = []
    for key, value in settings_of_loss.items():
        inner = ", ".join(f"{name} {each}" for name, each in value.items()) if isinstance(value, Mapping) else ""
        texts.append(f"{key} {inner}" if inner else f"{key}={value}")
    loss += f"({','.join(texts)})" if texts else ""
    varied = {key: value for key, value in cell.further.items() if key in labels and key != "filter"}
    settings = ", ".join(f"{labels[key]} {value_label(value)}" for key, value in varied.items())
    part = filter_label(cell.filter) if "filter" in labels and cell.filter is not None else ""
    if cell.positives is not None and cell.negatives is not None:
        return Method(loss, cell.positives, cell.negatives, part, settings)
    section = LossSection(name=cell.loss.name, settings=dict(cell.loss.settings))
    takes_tuples = cell.miner is not None or grid.loss_with(section, cell.grid_point).uses_tuples
    return Method(loss, "", cell.tuples if takes_tuples else "", part, settings)


def shared_settings(losses: Iterable[Part]) -> dict[str, dict[str, Any]]:
    """By the name of a loss, the settings that all of its variants have with the same value."""
    shared: dict[str, dict[str, Any]] = {}
    for loss in losses:
        before = shared.setdefault(loss.name, dict(loss.settings))
        shared[loss.name] = {k: v for k, v in before.items() if k in loss.settings and loss.settings[k] == v}
    return shared


def setting_labels(keys: Iterable[str]) -> dict[str, str]:
    """Short names of dotted settings: `training.batch.per_class` -> `per class`; `batch per class` if two end alike."""
    keys = list(dict.fromkeys(keys))
    last = [key.rpartition(".")[2] for key in keys]
    return {
        key: readable(name if last.count(name) == 1 else " ".join(key.split(".")[-2:]))
        for key, name in zip(keys, last, strict=True)
    }


say = Texts(__file__)

__all__ = ["EXPLAINED", "IN_SHORT", "NOT_TUNED", "RATE_NOT_TUNED", "after_comma", "mark"]

EXPLAINED = {
    "": "",
    NOT_TUNED: joined(say("not_tuned"), say("doubt")),
    RATE_NOT_TUNED: joined(say("rate_not_tuned"), say("doubt")),
}
"""What each mark means; empty for a study whose rate is tuned."""
IN_SHORT = joined(say("in_short"), say("doubt"))


def after_comma(tuning: str) -> str:
    """`, not tuned`; nothing without a mark."""
    return f", {tuning}" if tuning else ""
