"""The study that results are of: as it ran, with today's title, comparisons and report.

Its file may have changed since. What has not run is not shown, and what the file no longer has is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
from pydantic import ValidationError

from dml.config import ReportSection, Study, report_checks
from dml.config.errors import LocatedError
from dml.config.recorded import ATTRIBUTE, recorded
from dml.counting import counted
from dml.report.texts import Texts

say = Texts(__file__)


def as_it_ran(today: Study, trials: pd.DataFrame) -> tuple[Study, pd.DataFrame, str]:
    """The study that these trials are of, its trials, and what has changed since, in sentences.

    Parameters
    ----------
    trials : with the study as it ran (`dml.config.recorded`). Without, as earlier versions wrote them, today's study is
        taken.
    """
    text = trials.attrs.get(ATTRIBUTE)
    if text is None:
        return today, trials, ""
    try:
        ran = recorded(text, today)
    except ValueError as error:
        return today, trials, say("unreadable", why=_first(error))
    if ran == today:
        return today, trials, ""
    own, wanted = ({cell.name for cell in study.cells()} for study in (ran, today))
    if not own & wanted:
        return today, trials[:0], say("none")
    ran = _answerable(ran.without(own - wanted))
    said = [say("changed")]
    if gone := len(own - wanted):
        said.append(say("gone", cells=counted(gone, "cell"), are="is" if gone == 1 else "are"))
    if new := len(wanted - own):
        said.append(say("new", cells=counted(new, "cell"), have="has" if new == 1 else "have"))
    return ran, trials[trials["cell"].isin(own & wanted)], " ".join(said)


def _answerable(study: Study) -> Study:
    """The study without what its report asks of cells and scores that it lacks."""
    while (problem := _problem(report_checks.check, study)) is not None:
        setting = str(problem.location[1])  # below `report`
        default = getattr(ReportSection(), setting)
        study = study.model_copy(update={"report": study.report.model_copy(update={setting: default})})
    return study


def _first(error: ValueError) -> str:
    """What is wrong, in a line; of several problems the first, with its key."""
    if not isinstance(error, ValidationError):
        return str(error).splitlines()[0]
    problem = error.errors()[0]
    return ": ".join([".".join(map(str, problem["loc"])), problem["msg"].removeprefix("Value error, ")])


def _problem(check: Callable[..., None], *arguments: Any) -> LocatedError | None:
    try:
        check(*arguments)
    except LocatedError as error:
        return error
    return None
