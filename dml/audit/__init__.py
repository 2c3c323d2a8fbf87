"""How many labels are wrong, and which: any vectors, the labels as given, no clean ones.

result = dml.audit.audit({"pixels": pixels, "frozen": features}, labels)
result.table()                               # index, given, suggested, score, ... of every image
result.rate.guess, result.rate.assumption     # a first guess of the noise rate
plan = dml.audit.review_plan(result, n=200)  # which images a person should look at
dml.audit.estimate(plan, answers)            # the noise rate with an interval
"""

from dml.audit.inputs import Learner, check_labels, folds_of
from dml.audit.rate import Rate
from dml.audit.result import Audit
from dml.audit.review import ANSWERS, Estimate, ReviewPlan, estimate, review_plan
from dml.audit.scores import audit, guess

__all__ = ["ANSWERS", "Audit", "Estimate", "Learner", "Rate", "ReviewPlan"]
__all__ += ["audit", "check_labels", "estimate", "folds_of", "guess", "review_plan"]
