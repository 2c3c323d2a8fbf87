"""Which studies test the claims on the histogram loss, and how. `claims.csv` has the claims."""

from collections.abc import Iterator

from dml.report.claims import claim, paired, reached, slope
from dml.report.results import Results
from dml.report.verdicts import Comparison

TEST = "test/fine/recall@1"
HISTOGRAM = {"loss": "histogram"}
BINOMIAL = {"loss": "binomial_deviance"}
LIFTED = {"loss": "lifted_structure"}
TRIPLET = {"loss": "triplet"}
CONTRASTIVE = {"loss": "contrastive"}
SCRATCH = {"training.init_from": None}


@claim("histogram-bins-cub", "histogram-bins-cub200-cuhk03")
def bins_cub(results: Results) -> Iterator[Comparison]:
    yield slope(results, "loss.bins", {}, None, TEST, where={"dataset": "cub200"}, scale="log", within=0.5)


@claim("histogram-bins-cuhk03", "histogram-bins-cub200-cuhk03")
def bins_cuhk03(results: Results) -> Iterator[Comparison]:
    yield slope(
        results,
        "loss.bins",
        {},
        None,
        TEST,
        where={"dataset": "cuhk03"},
        scale="log",
        note=(
            "Larger bins are fewer bins. The other half of overfitting, training scores that do not fall, is "
            "the next test."
        ),
    )
    yield slope(
        results, "loss.bins", {}, None, "train/fine/recall@1", where={"dataset": "cuhk03"}, scale="log", within=0.5
    )


@claim("histogram-bins-200", "histogram-bins-numbers")
def bins_200(results: Results) -> Iterator[Comparison]:
    """Finer bins bring less than one point."""
    yield paired(results, {"loss.bins": [401, 1001]}, {"loss.bins": 201}, TEST, each=["loss.bins"], below=1)


@claim("histogram-reid", "histogram-cuhk03-market1501")
def reid(results: Results) -> Iterator[Comparison]:
    for persons in ({"dataset": "cuhk03"}, {"dataset": "market1501"}):
        for other in (BINOMIAL, LIFTED, TRIPLET, CONTRASTIVE):
            yield paired(results, HISTOGRAM, other, TEST, where=persons)


@claim("histogram-cub-sop", "histogram-cub200-sop")
def cub_sop(results: Results) -> Iterator[Comparison]:
    yield paired(
        results,
        HISTOGRAM,
        BINOMIAL,
        TEST,
        where={"dataset": "cub200"},
        published=2.5,
        note=(
            "Second best is the claim, and the poster does not name the best; LoOp quotes 52.8 against 50.3 for "
            "binomial deviance."
        ),
    )
    yield paired(results, HISTOGRAM, BINOMIAL, TEST, where={"dataset": "sop"})


@claim("histogram-overlap", "histogram-pairs-numbers")
def overlap(results: Results) -> Iterator[Comparison]:
    """The pair AUC stands for the overlap. The condition is that of histogram-pairs-tuned."""
    yield paired(results, HISTOGRAM, BINOMIAL, "test/fine/pair_auc", condition=reached(results, BINOMIAL, TEST, 50))
    yield paired(results, HISTOGRAM, LIFTED, "test/fine/pair_auc", condition=reached(results, LIFTED, TEST, 50))


@claim("histogram-overlap", "histogram-pairs-tuned")
def overlap_pairs_tuned(results: Results) -> Iterator[Comparison]:
    """The pair AUC stands for the overlap. The condition, that the rival has learned the letters, was set before it
    ran.
    """
    yield paired(
        results,
        HISTOGRAM,
        BINOMIAL,
        "test/fine/pair_auc",
        condition=reached(results, BINOMIAL, TEST, 50),
        disputed=(
            "confirmed on letters, where LSSS, of which the claim speaks too, learns too little to be a rival; "
            "on numbers (histogram-pairs-numbers) LSSS is behind and binomial deviance level"
        ),
    )
    yield paired(results, HISTOGRAM, LIFTED, "test/fine/pair_auc", condition=reached(results, LIFTED, TEST, 50))


@claim("histogram-overlap", "histogram-pairs")
def overlap_pairs(results: Results) -> Iterator[Comparison]:
    """The pair AUC stands for the overlap, and every loss has its default settings."""
    yield paired(
        results,
        {"loss": "histogram", "training.steps": 1500},
        {"loss": "histogram", "training.steps": 0},
        "test/fine/pair_auc",
        fixed="the network is compared with its own start, and a tuned one would gain at least as much",
    )


@claim("histogram-tuning", "histogram-tuning-numbers")
def tuning(results: Results) -> Iterator[Comparison]:
    yield paired(
        results,
        HISTOGRAM,
        BINOMIAL,
        TEST,
        note=(
            "Against binomial deviance. Means over three values of each loss's parameter; the four rivals are "
            "four tests."
        ),
    )
    yield paired(results, HISTOGRAM, LIFTED, TEST, note="Against LSSS.")
    yield paired(results, HISTOGRAM, TRIPLET, TEST, note="Against triplet loss.")
    yield paired(results, HISTOGRAM, CONTRASTIVE, TEST, note="Against contrastive loss.")


@claim("histogram-pretraining", "histogram-pretraining-numbers")
def pretraining(results: Results) -> Iterator[Comparison]:
    yield paired(
        results,
        {"training.init_from": {"study": "histogram-classifier-numbers", "cell": {"loss": "softmax"}}},
        SCRATCH,
        TEST,
        where=HISTOGRAM,
        within=2,
        note="No gain for histogram and a gain for the others are two tests.",
    )
    yield paired(
        results,
        {"training.init_from": {"study": "histogram-classifier-numbers", "cell": {"loss": "softmax"}}},
        SCRATCH,
        TEST,
        where={"loss": ["binomial_deviance", "lifted_structure", "triplet", "contrastive"]},
        each=["loss"],
        above=2,
        note="A loss that needs a pretrained network gains at least as much as the tolerance of the first test.",
    )
