"""How a method is drawn: a colour and a marker for its positives, a dash for its negatives, a short label."""

from __future__ import annotations

from dml.report.figures import style
from dml.report.labels import readable
from dml.report.methods import Method
from dml.report.results import Results

DASHES = ("-", "--", ":", "-.")


def look(results: Results, method: Method) -> tuple[str, str]:
    """The colour and marker of a method's positives, which depend on their order in the study only."""
    choices = [p for p in dict.fromkeys(m.positives for m in results.methods.values()) if p]
    return style.look(choices.index(method.positives) if method.positives else None)


def dash(results: Results, method: Method) -> str:
    """The line style of a method's negatives."""
    choices = list(dict.fromkeys(m.negatives for m in results.methods.values()))
    return DASHES[choices.index(method.negatives) % len(DASHES)]


def filter_dash(results: Results, method: Method) -> str:
    """The line style of a method's filter; without one the line is solid."""
    choices = list(dict.fromkeys(["", *(m.filter for m in results.methods.values())]))
    return DASHES[choices.index(method.filter) % len(DASHES)]


def positives_label(method: Method) -> str:
    """`easy positives`, for a legend."""
    return f"{readable(method.positives)} positives" if method.positives else "no choice of positives"


def negatives_label(method: Method) -> str:
    """`hard negatives`, for a legend; without a choice of positives, the miner or `all pairs`; else ""."""
    return readable(method.negatives) + (" negatives" if method.positives else "")


def short_label(results: Results, method: Method) -> str:
    """A method without what all methods of the study share: `triplet, easy positives`."""
    texts = {
        "loss": readable(method.loss),
        "positives": positives_label(method) if method.positives else "",
        "negatives": negatives_label(method),
    }
    several = [axis for axis in texts if len({getattr(m, axis) for m in results.methods.values()}) > 1]
    parts = [texts[axis] for axis in several if texts[axis]]
    parts += [method.variant] if method.variant else []
    return ", ".join(parts) or method.label
