"""Which studies test the claims on label noise, and how. `claims.csv` has the claims."""

from collections.abc import Iterator
from dataclasses import replace

from dml.report.claims import break_points, claim, paired, reached, slope
from dml.report.results import Results
from dml.report.verdicts import Comparison
from papers.noise.theory.skew import eta_of_trial

TEST = "test/fine/recall@1"
SEEN = "seen/fine/recall@1"
SEMIHARD = {"negatives": "semihard_random"}
FIXED = {"negatives": "semihard_fixed"}
RANDOM = {"negatives": "random"}
MARGIN = {"loss": "margin", "negatives": "semihard_random"}
TRIPLET = {"loss": "triplet", "negatives": ["semihard_random", "semihard_fixed"]}
BOTH = {"negatives": ["semihard_random", "semihard_fixed"]}
CLEAN = {"loss": "triplet", "rate": 0.0}
NOISY = {"loss": "triplet", "rate": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]}
SUBSET = {"noise": "subset", "rate": 0.3}
SLIGHTLY = "Better, and by less than two points, are two tests."
SCRATCH = {"training.init_from": None}


@claim("noise-hinge-bound", "noise-negatives")
def hinge_bound(results: Results) -> Iterator[Comparison]:
    """Tests whether break points follow the order of the bounds. The page shows bounds beside break points."""
    yield break_points(
        results, {"negatives": ["random", "semihard_random"]}, {"negatives": ["semihard_fixed", "hard"]}, TEST
    )


@claim("noise-hinge-bound", "noise-numbers-long")
def hinge_bound_numbers(results: Results) -> Iterator[Comparison]:
    """Tests whether break points follow the order of the bounds. The page shows bounds beside break points."""
    yield break_points(
        results,
        {"negatives": ["random", "semihard_random"]},
        FIXED,
        TEST,
        disputed=(
            "numbers made of MNIST's digits, in a script without dml, do not confirm it (-0.4, standard error "
            "2.2; docs/LOG.md)"
        ),
    )


@claim("noise-skew", "noise-mnist")
def skew(results: Results) -> Iterator[Comparison]:
    """Added after a look at the data, on correct labels, where these networks find more than pixels do."""
    yield paired(
        results,
        FIXED,
        SEMIHARD,
        "diagnostics/eta",
        number=eta_of_trial,
        where=CLEAN,
        disputed="with 20% wrong labels the order is the reverse, -0.9 [-1.6, -0.2], and pixels are as good there",
        fixed="the skew of the negatives at equal settings, not which of them retrieves better",
    )


@claim("noise-skew", "noise-negatives")
def skew_negatives(results: Results) -> Iterator[Comparison]:
    """At the noise rates at which these networks find more than principal components do."""
    yield paired(
        results,
        FIXED,
        SEMIHARD,
        "diagnostics/eta",
        number=eta_of_trial,
        where={"rate": [0.0, 0.2, 0.4]},
        fixed="the skew of the negatives at equal settings, not which of them retrieves better",
    )


@claim("noise-skew", "noise-numbers-long")
def skew_numbers(results: Results) -> Iterator[Comparison]:
    yield paired(
        results,
        FIXED,
        SEMIHARD,
        "diagnostics/eta",
        number=eta_of_trial,
        fixed="the skew of the negatives that each draws, not which of them retrieves better",
    )


@claim("noise-uniform-negatives", "noise-negatives")
def uniform_negatives(results: Results) -> Iterator[Comparison]:
    yield paired(
        results,
        {"negatives": ["semihard_random", "semihard_fixed", "hard"]},
        RANDOM,
        TEST,
        where={"rate": [0.2, 0.4, 0.6, 0.8]},
        each=["negatives"],
        share=True,
        below=0,
    )


@claim("noise-uniform-negatives", "noise-numbers-long")
def uniform_negatives_numbers(results: Results) -> Iterator[Comparison]:
    """With 500 steps it was tested at 30%, where the effect was largest; it counts at all three rates."""
    yield paired(results, BOTH, RANDOM, TEST, each=["negatives"], share=True, below=0)


@claim("noise-local-bound", "noise-local-numbers")
def local_bound(results: Results) -> Iterator[Comparison]:
    """Tests whether R@1 lasts up to 30% noise; the page shows the bound."""
    yield paired(
        results,
        {"rate": [0.1, 0.2, 0.3]},
        {"rate": 0.0},
        TEST,
        within=2,
        disputed=(
            "all three rates lie above the bound, which is 0 for the gamma of the clean network (3e-5) and 2 to "
            "8% for those of the noisy ones, so the guarantee says nothing of them"
        ),
        fixed="the bound is of a local minimiser, so a rate that leaves it would test something else",
    )


@claim("noise-clean-policies", "noise-fig1-sop", "noise-omniglot")
def clean_policies(results: Results) -> Iterator[Comparison]:
    yield paired(results, FIXED, SEMIHARD, TEST, where=CLEAN)


@claim("noise-clean-policies", "noise-fig2-fig3")
def clean_policies_fig2_fig3(results: Results) -> Iterator[Comparison]:
    yield paired(results, FIXED, SEMIHARD, TEST, where=CLEAN, each=["dataset"])


@claim("noise-clean-policies", "noise-mnist")
def clean_policies_mnist(results: Results) -> Iterator[Comparison]:
    yield paired(results, FIXED, SEMIHARD, SEEN, where=CLEAN)


@claim("noise-clean-policies", "noise-numbers-long")
def clean_policies_numbers_long(results: Results) -> Iterator[Comparison]:
    """On clean subsets of 70% of the training images, as no cell has all of them with correct labels."""
    yield paired(results, FIXED, SEMIHARD, TEST, where=SUBSET)
    yield paired(results, FIXED, SEMIHARD, TEST, where=SUBSET, within=2, note=SLIGHTLY)


@claim("noise-clean-policies", "noise-clean-ten")
def clean_policies_ten(results: Results) -> Iterator[Comparison]:
    yield paired(results, FIXED, SEMIHARD, TEST)
    yield paired(results, FIXED, SEMIHARD, TEST, within=2, note=SLIGHTLY)


@claim("noise-figure-1-sop", "noise-fig1-sop")
def figure_1_sop(results: Results) -> Iterator[Comparison]:
    yield break_points(results, SEMIHARD, FIXED, TEST, where={"loss": "triplet"}, published=20)


@claim("noise-figure-1-sop", "noise-omniglot")
def figure_1_sop_omniglot(results: Results) -> Iterator[Comparison]:
    yield break_points(results, SEMIHARD, FIXED, TEST, where={"loss": "triplet"})


@claim("noise-figures-1d-2d-3d", "noise-fig1-sop")
def figures_1d_2d_3d(results: Results) -> Iterator[Comparison]:
    yield paired(results, SEMIHARD, FIXED, TEST, where=NOISY, share=True)


@claim("noise-figures-1d-2d-3d", "noise-fig2-fig3")
def figures_1d_2d_3d_fig2_fig3(results: Results) -> Iterator[Comparison]:
    yield paired(results, SEMIHARD, FIXED, TEST, where=NOISY, each=["dataset"], share=True)


@claim(
    "noise-figures-1d-2d-3d",
    "noise-mnist",
    stand_in="a small network from scratch in place of ResNet-34, digits in place of SOP, CUB and Flowers",
)
def figures_1d_2d_3d_mnist(results: Results) -> Iterator[Comparison]:
    yield paired(results, SEMIHARD, FIXED, SEEN, where={"loss": "triplet", "rate": [0.2, 0.4, 0.6]}, share=True)


@claim(
    "noise-figures-1d-2d-3d",
    "noise-omniglot",
    stand_in="a small network from scratch in place of ResNet-34, letters in place of SOP, CUB and Flowers",
)
def figures_1d_2d_3d_omniglot(results: Results) -> Iterator[Comparison]:
    yield paired(results, SEMIHARD, FIXED, TEST, where=NOISY, share=True)


@claim("noise-figure-1-marginal", "noise-fig1-sop", "noise-omniglot")
def figure_1_marginal(results: Results) -> Iterator[Comparison]:
    yield paired(
        results, MARGIN, TRIPLET, TEST, where={"rate": [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]}, share=True, below=0
    )


@claim("noise-figures-2-3-marginal", "flowers-frozen")
def figures_2_3_marginal(results: Results) -> Iterator[Comparison]:
    """A subset of Flowers, a frozen MobileNet v2 and a linear head, in place of a ResNet-34 that is trained whole."""
    yield paired(
        results,
        {"loss": "margin", "positives": "random", "negatives": "semihard_random"},
        {"loss": "triplet", "positives": "random", "negatives": "semihard_random"},
        TEST,
        where={"rate": [0.25, 0.5]},
        share=True,
        within=5,
    )


@claim("noise-figures-2-3-marginal", "noise-fig2-fig3")
def figures_2_3_marginal_fig2_fig3(results: Results) -> Iterator[Comparison]:
    yield paired(
        results,
        MARGIN,
        {"loss": "triplet", "negatives": "semihard_random"},
        TEST,
        where={"rate": [0.1, 0.2, 0.3, 0.4, 0.5]},
        each=["dataset"],
        share=True,
        within=5,
    )


@claim("noise-pretrained", "noise-pretrained-long")
def pretrained(results: Results) -> Iterator[Comparison]:
    learned = reached(results, SUBSET, TEST, 50)
    yield paired(
        results,
        {"training.init_from": {"study": "noise-clean-grid", "cell": {"loss": "triplet"}}},
        SCRATCH,
        TEST,
        where={"rate": 0.3},
        each=["loss"],
        share=True,
        condition=learned,
        note=("Added after a study of 500 steps was seen. On ten new seeds, after seeds 0 to 4 had left it undecided."),
    )
    yield slope(
        results,
        "training.init_from",
        {"loss": "margin"},
        {"loss": "triplet"},
        TEST,
        where={"rate": 0.3},
        share=True,
        values={"none": 0, "study:noise-clean-grid+cell:loss:triplet": 1},
        condition=learned,
        note=(
            "Whether the marginal loss gains most. Added after seeds 0 to 4 had been seen, and tested on ten others."
        ),
        disputed=(
            "numbers made of MNIST's digits, in a script without dml, do not confirm it: +18.3 for +15.0 (docs/LOG.md)"
        ),
    )


@claim("noise-pretrained", "noise-pretrained-longer")
def pretrained_longer(results: Results) -> Iterator[Comparison]:
    """The tests of noise-pretrained-long after twice the steps, on five of its seeds."""
    for comparison in pretrained.function(results):
        yield replace(comparison, note="", disputed="")


@claim("noise-figure-4-nmi", "noise-fig1-sop")
def figure_4_nmi(results: Results) -> Iterator[Comparison]:
    yield paired(
        results,
        SEMIHARD,
        FIXED,
        "test/fine/nmi",
        where=NOISY,
        share=True,
        note="The gaps' size is compared by eye, with the same effect in R@1 and AMI in noise-figures-1d-2d-3d.",
    )
    yield paired(
        results,
        MARGIN,
        TRIPLET,
        "test/fine/nmi",
        where={"rate": [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]},
        share=True,
        below=0,
    )


@claim("noise-figure-4-nmi", "noise-fig2-fig3")
def figure_4_nmi_fig2_fig3(results: Results) -> Iterator[Comparison]:
    """The gaps' size is compared by eye, with the same effect in R@1 and AMI in noise-figures-1d-2d-3d."""
    yield paired(results, SEMIHARD, FIXED, "test/fine/nmi", where=NOISY, each=["dataset"], share=True)


@claim(
    "noise-figure-4-nmi",
    "noise-omniglot",
    stand_in="a small network from scratch in place of ResNet-34, letters in place of SOP, CUB and Flowers",
)
def figure_4_nmi_omniglot(results: Results) -> Iterator[Comparison]:
    yield from figure_4_nmi.function(results)


@claim("noise-figure-4-nmi", "noise-numbers-long")
def figure_4_nmi_numbers(results: Results) -> Iterator[Comparison]:
    """Triplet loss alone, each policy at a tuned rate. R@1 and AMI of the same models are on the page."""
    yield paired(results, SEMIHARD, FIXED, "test/fine/nmi", share=True)


@claim("noise-positive-precision", "noise-precision-numbers-folds")
def positive_precision(results: Results) -> Iterator[Comparison]:
    """What leaving out false positives gains over leaving out false negatives. Five folds of other pictures asked
    first (triplet +7.0 [1.6, 12.3], marginal +9.0 [4.3, 13.8], undecided after Holm's correction), then these
    eight, with new pictures. The paper argues from how often each is drawn.
    """
    yield paired(results, {"miner.right": "positives"}, {"miner.right": "negatives"}, TEST, each=["loss"])


@claim("noise-half", "noise-half")
def half(results: Results) -> Iterator[Comparison]:
    """The claim says what can happen, so one case does not refute it."""
    yield paired(
        results,
        {"noise": "uniform", "rate": 0.368},
        {"noise": "uniform", "rate": 0.0},
        TEST,
        within=2,
        disputed=(
            "heads on frozen features lose nothing at 36.5% (+0.2, docs/LOG.md), and the claim says what can happen"
        ),
    )


@claim("noise-half", "joint-cifar100-tuned")
def half_heads(results: Results) -> Iterator[Comparison]:
    """Heads on frozen features, with the paper's positives and the margin of the letters. Added after the effect with
    random positives was seen (+0.1).
    """
    yield paired(
        results,
        {"noise": "uniform", "rate": 0.365},
        {"noise": "uniform", "rate": 0.0},
        TEST,
        where={"loss": "triplet", "positives": "all", "negatives": "semihard_random"},
        within=2,
        disputed=(
            "whitening and all other heads of the study lose as little, so the features resist and not this loss; a "
            "network trained whole on letters loses 7.1 (noise-half)"
        ),
    )
