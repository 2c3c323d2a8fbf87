"""How many labels are wrong, and which: any vectors, the labels as given, no clean ones.

found = dml.audit.audit({"pixels": pixels, "frozen": features}, labels)
found.table()                                # index, given, suggested, score, ... of every image
found.rate.guess, found.rate.assumption      # a first guess of the noise rate
plan = dml.audit.review_plan(found, n=200)   # which images a person should look at
dml.audit.estimate(plan, answers)            # the noise rate with an interval
"""

from dml.audit._audit import audit
from dml.audit._first_guess import guess
from dml.audit._folds import folds_of
from dml.audit._inputs import check_labels
from dml.audit._rate import Rate
from dml.audit.learner import Learner
from dml.audit.result import Audit
from dml.audit.review import ANSWERS, Estimate, ReviewPlan, estimate, review_plan

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
