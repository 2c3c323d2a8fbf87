"""Each score against each setting that varies."""

from __future__ import annotations

from collections.abc import Iterator

from dml.report.figures.against_setting import against_setting
from dml.report.figures.best import MANY, best_methods, only_best
from dml.report.labels import score_label
from dml.report.methods import Method, setting_labels
from dml.report.numbers import rate as written
from dml.report.page.blocks import Block, Drawing, Folded
from dml.report.results import Results
from dml.report.sections._rows import means, score_frame
from dml.report.texts import Texts
from dml.types import VALIDATION, ScoreKey

say = Texts(__file__)


class AgainstSetting:
    """A figure for each axis of `grid`."""

    anchor, title = "settings-varied", "What the settings change"

    def applies(self, results: Results) -> bool:
        """At least one setting varies, and at least one trial is confirmed."""
        return bool(results.study.grid) and not results.confirmed.empty

    def content(self, results: Results) -> Iterator[Block | None]:
        """The objective against each setting; the other scores folded."""
        for axis in results.study.axes:
            for dataset, noise in results.conditions:
                objective = results.objective(dataset)
                for rate in results.rates(dataset, noise):
                    yield _drawing(results, dataset, noise, rate, axis, objective)
                others = [k for k in results.score_keys if k != objective and ScoreKey.parse(k).set != VALIDATION]
                for key in others:
                    drawing = _drawing(results, dataset, noise, results.rates(dataset, noise)[0], axis, key)
                    if drawing.figure is not None:
                        yield Folded(f"{score_label(key)}, against {_name(results, axis)}", (drawing,))


def _drawing(results: Results, dataset: str, noise: str, rate: float, axis: str, key: str) -> Drawing:
    label, name = score_label(key), _name(results, axis)
    where = results.where(dataset, noise)
    if len(results.rates(dataset, noise)) > 1:
        where += f", {written(rate)} label noise"
    file = "-".join(["setting", axis, dataset, noise, f"{rate:g}", *ScoreKey.parse(key)])
    caption = say("figure", score=label, setting=name, where=where, means=means(results, [key]))
    names = results.cells_of(dataset, noise, rate)
    only: list[Method] = []
    if len({results.methods[cell].bare for cell in names}) > MANY:
        only = best_methods(results, names, key)
        caption += only_best(len(only))
    data = score_frame(results, names, [key])
    figure = against_setting(results, data, axis, [method.bare for method in only])
    return Drawing(file, figure, data, f"{label} against {name}.", caption)


def _name(results: Results, axis: str) -> str:
    """`per class`, or `classes, per class` for settings that move together."""
    return ", ".join(setting_labels(key for key in results.study.axes[axis][0] if key in results.varied).values())
