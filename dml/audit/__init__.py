"""How many labels are wrong, and which: any vectors, the labels as given, no clean ones.

found = dml.audit.audit({"pixels": pixels, "frozen": features}, labels)
found.table()                                # index, given, suggested, score, ... of every image
found.rate.guess, found.rate.assumption      # a first guess of the noise rate
plan = dml.audit.review_plan(found, n=200)   # which images a person should look at
dml.audit.estimate(plan, answers)            # the noise rate with an interval
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dml.audit.inputs import Learner, check_labels, folds_of
    from dml.audit.rate import Rate
    from dml.audit.result import Audit
    from dml.audit.review import ANSWERS, Estimate, ReviewPlan, estimate, review_plan
    from dml.audit.scores import audit, guess

__all__ = [
    "ANSWERS",
    "Audit",
    "Estimate",
    "Learner",
    "Rate",
    "ReviewPlan",
    "audit",
    "check_labels",
    "estimate",
    "folds_of",
    "guess",
    "review_plan",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dml.audit import inputs, rate, result, review, scores  # torch: the command line needs none of it

    return next(getattr(module, name) for module in (inputs, rate, result, review, scores) if name in vars(module))
