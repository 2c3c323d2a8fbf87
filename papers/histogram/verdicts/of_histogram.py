"""What the histogram loss estimates, what it costs, and its derivatives: numbers and verdicts."""

from __future__ import annotations

from functools import cache
from typing import Literal

import numpy as np
import pandas as pd

from dml.report.sections import TheoryVerdict
from papers.histogram.theory import reverse_order, similarity_laws
from papers.histogram.theory.quadruplet_cost import costs
from papers.histogram.theory.reverse_order import Similarities
from papers.loop.theory.loop_toy import runs

Word = Literal["confirmed", "refuted", "undecided"]
BINS = (11, 21, 51, 101, 201, 401, 1001, 2001)
USUAL = 201  # step 0.01
CHECKED = (2, 11, 21, 201)  # against brute force and against differences


@cache
def similarities() -> dict[str, Similarities]:
    toy = next(run for run in runs() if run.arm == "LoOp" and run.seed == 0)
    return {
        "wide classes": similarity_laws.clustered(2.0),
        "tight classes": similarity_laws.clustered(0.7),
        "the toy's network": similarity_laws.of_embeddings(toy.embeddings.astype(float), toy.labels),
    }


@cache
def rows() -> tuple[dict[str, object], ...]:
    rows = []
    for name, s in similarities().items():
        exact, density = reverse_order.exact(s), reverse_order.density(s)
        for bins in BINS:
            step, loss = 2 / (bins - 1), reverse_order.loss(s, bins)
            row = {"similarities": name, "R": bins, "step": step, "exact": exact, "loss": loss, "bias": loss - exact}
            row |= {"predicted": step / 2 * density, "ratio": loss / exact}
            rows.append(row | {"margin": reverse_order.with_margin(s, step / 2)})
    return tuple(rows)


def estimate() -> TheoryVerdict:
    frame = pd.DataFrame(rows()).set_index("R")
    finest, usual, coarse = (frame.loc[bins].set_index("similarities") for bins in (BINS[-1], USUAL, 21))
    converges = bool((finest["bias"].abs() < 2e-3).all() and (finest["bias"].abs() < usual["bias"].abs()).all())
    above = bool((frame["bias"] > 0).all())
    explained = float((usual["predicted"] / usual["bias"] - 1).abs().max())
    verdict: Word = "confirmed" if converges else "refuted"
    finding = (
        f"For {len(usual)} sets of similarities with p = {_list(usual['exact'])}, the loss is {_list(coarse['loss'])} "
        f"with R = 21, {_list(usual['loss'])} with R = {USUAL} and {_list(finest['loss'])} with R = {BINS[-1]}: "
        + ("always above p, and closer with more nodes. " if above else "closer with more nodes. ")
        + f"Half a step times the density of s- - s+ at 0 predicts the excess at R = {USUAL} within {explained:.0%}."
    )
    corrected = (
        "The loss is P(s- > s+ - step / 2) to first order in the step: it overestimates the probability, and a wide "
        "bin acts as a margin."
    )
    return TheoryVerdict("histogram-reverse-order", verdict, finding, corrected if above and explained < 0.25 else "")


@cache
def small() -> Similarities:
    rng = np.random.default_rng(0)
    return Similarities(rng.uniform(-1, 1, 40), rng.uniform(-1, 1, 60))


def quadruplets() -> TheoryVerdict:
    errors = [abs(reverse_order.loss(small(), b) - reverse_order.quadruplet_mean(small(), b)) for b in CHECKED]
    first, *_, last = costs()
    exponent = float(np.log(last.made / first.made) / np.log(last.pairs / first.pairs))
    verdict: Word = "confirmed" if max(errors) < 1e-12 and exponent < 1.1 else "refuted"
    finding = (
        f"The loss equals the mean of a kernel over all {len(small().positive) * len(small().negative):,} "
        f"quadruplets of two sets, computed one by one, within {max(errors):.0e} (R = {', '.join(map(str, CHECKED))}). "
        f"From a batch of {first.batch} to one of {last.batch}, its work grows as (number of pairs)^{exponent:.2f}, "
        f"to {last.made / last.pairs:.0f} elements per pair, while the quadruplets grow to "
        f"{last.quadruplets / 1e6:.0f} million. Quadruplets without a common sample count too."
    )
    return TheoryVerdict("histogram-all-quadruplets", verdict, finding)


@cache
def _errors(printed: bool) -> float:
    """The largest error of a derivative over the largest derivative, over both kinds of pairs."""
    worst = []
    for bins in CHECKED:
        gradient = reverse_order.gradient(small(), bins, printed)
        exact = reverse_order.differences(small(), bins)
        worst += [float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(gradient, exact, strict=True)]
    return max(worst)


def derivatives() -> TheoryVerdict:
    at_node = Similarities(np.array([0.2, *small().positive]), small().negative)  # a node of R = 21
    below, above = reverse_order.one_sided(at_node, 21)
    sums = [float(reverse_order.histogram(small().positive, bins, printed=True).sum()) for bins in (21, USUAL)]
    printed, right = _errors(True), _errors(False)
    verdict: Word = "refuted" if printed > 0.01 else "confirmed"
    finding = (
        f"Against central differences, derivatives by equation 4 as printed are off by up to {printed:.0%} of the "
        f"largest, and by the corrected one by {right:.0e}. With equation 3 as printed, a histogram sums to "
        f"{sums[0]:.2f} (R = 21) or {sums[1]:.2f} (R = {USUAL}) and not to 1. At a node the slope from below is "
        f"{below:.4f} and from above {above:.4f}: the loss is only piecewise differentiable."
    )
    corrected = (
        "dL/dh-_r = sum of h+_q over q <= r, and dL/dh+_r = sum of h-_q over q >= r; in equation 3, the factor 1 / "
        "(step |S|) belongs to both sums. Equation 5 holds between the nodes; at a node it gives the one-sided slopes."
    )
    holds = verdict == "refuted" and right < 1e-5
    return TheoryVerdict("histogram-derivatives", verdict, finding, corrected if holds else "")


def _list(values: pd.Series) -> str:
    texts = [f"{value:.3g}" for value in values]
    return ", ".join(texts[:-1]) + " and " + texts[-1]
