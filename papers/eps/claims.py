"""Which studies test the claims on easy positives, and how. `claims.csv` has the claims."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dml.report.claims import claim, paired, reached, slope
from dml.report.results import Results
from dml.report.verdicts import Comparison

TEST = "test/fine/recall@1"
SEEN = "seen/fine/recall@1"
EASY = {"positives": "easy"}
RANDOM = {"positives": "random"}
OTHERS = {"positives": ["semihard", "random", "multi_similarity"]}
PROXY = {"loss": "proxy_nca", "positives": None, "negatives": None}
CLEAN = {"rate": 0.0}


@claim("eps-noise-collapse", "eps-noise-plane")
def noise_collapse(results: Results) -> Iterator[Comparison]:
    learned = reached(results, CLEAN, "seen/coarse/recall@1", 95)
    yield slope(results, "rate", RANDOM, None, SEEN, below=0, condition=learned)
    yield slope(
        results,
        "rate",
        EASY,
        RANDOM,
        SEEN,
        condition=learned,
        note="The lead of easy positives grows with the noise rate.",
    )


@claim("eps-noise-collapse", "eps-noise")
def noise_collapse_128(results: Results) -> Iterator[Comparison]:
    learned = reached(results, CLEAN, "seen/coarse/recall@1", 95)
    yield slope(results, "rate", RANDOM, None, SEEN, each=["loss"], below=0, condition=learned)
    yield slope(
        results,
        "rate",
        EASY,
        RANDOM,
        SEEN,
        each=["loss"],
        condition=learned,
        note="The lead of easy positives grows with the noise rate.",
        disputed=(
            "a larger network has leads of -1.6, 0.3 and -1.8 points at 0, 20 and 40% noise "
            "(benchmarks/second_looks/mnist_noise.py)"
        ),
    )
    yield slope(
        results,
        "rate",
        RANDOM,
        None,
        "seen/fine/nmi",
        each=["loss"],
        below=0,
        condition=learned,
        note="Added after a look at the data.",
    )
    yield slope(
        results,
        "rate",
        EASY,
        RANDOM,
        "seen/fine/nmi",
        each=["loss"],
        condition=learned,
        note="The lead of easy positives grows with the noise rate; added after a look at the data.",
    )


@claim("eps-clean-redundant", "eps-noise")
def clean_redundant_noise(results: Results) -> Iterator[Comparison]:
    learned = reached(results, CLEAN, "seen/coarse/recall@1", 95)
    yield paired(results, EASY, RANDOM, SEEN, where=CLEAN, each=["loss"], within=1, condition=learned)
    yield paired(
        results,
        EASY,
        RANDOM,
        "seen/fine/nmi",
        where=CLEAN,
        each=["loss"],
        within=1,
        condition=learned,
        note="Added after a look at the data; NMI stands for the separation of modes.",
        disputed="R@1 does not rise, and the training risk is not 0, as the theory assumes",
    )


@claim("eps-clean-redundant", "eps-table1")
def clean_redundant_table1(results: Results) -> Iterator[Comparison]:
    """Added after a look at the data; in the plane, where modes are forced to overlap."""
    learned = reached(results, {}, "seen/coarse/recall@1", 95)
    yield paired(
        results,
        EASY,
        RANDOM,
        SEEN,
        within=1,
        condition=learned,
        disputed=(
            "R@1 does not rise in 128 dimensions (eps-noise), and the training risk is not "
            "0, as the theory assumes (2.4% of the triplets have a loss)"
        ),
    )
    yield paired(
        results,
        EASY,
        RANDOM,
        "seen/fine/nmi",
        within=1,
        condition=learned,
        disputed="the training risk is not 0, as the theory assumes (2.4% of the triplets have a loss)",
    )


@claim("eps-clean-redundant", "eps-table3-resnet50", "eps-table3-ten")
def clean_redundant_table3_resnet50(results: Results) -> Iterator[Comparison]:
    """Added after a look at the data; only margin loss has random positives as its baseline."""
    learned = reached(results, {"loss": "margin", "positives": "random"}, "train/coarse/recall@1", 95)
    yield paired(
        results,
        EASY,
        RANDOM,
        "train/fine/recall@1",
        where={"loss": "margin"},
        within=1,
        condition=learned,
        disputed=(
            "R@1 does not rise on MNIST in 128 dimensions (eps-noise), and the training risk "
            "is not 0, as the theory assumes"
        ),
    )


@claim("eps-few-positives", "eps-few-positives")
def few_positives(results: Results) -> Iterator[Comparison]:
    """The difference to random positives of the same batches is the control. Untuned networks of 128 dimensions asked
    first (+0.3 [-1.6, 2.1]).
    """
    learned = reached(results, {}, "seen/coarse/recall@1", 95)
    yield slope(
        results, "training.batch.per_class", EASY, RANDOM, "seen/fine/nmi", scale="log", below=0, condition=learned
    )


@claim("eps-table-1-train", "eps-table1")
def table_1_train(results: Results) -> Iterator[Comparison]:
    learned = reached(results, {}, "seen/coarse/recall@1", 95)
    yield paired(results, EASY, RANDOM, SEEN, condition=learned, published=23.8)


@claim("eps-table-1-test", "eps-table1")
def table_1_test(results: Results) -> Iterator[Comparison]:
    learned = reached(results, {}, "seen/coarse/recall@1", 95)
    yield paired(results, EASY, RANDOM, TEST, condition=learned, published=7.1)


@claim("eps-figure-2", "eps-fig2-seeds")
def figure_2(results: Results) -> Iterator[Comparison]:
    """NMI of the digits, with as many clusters as digits, stands for the separation that the figure shows. The eight
    seeds of eps-table1 asked first: +12.9 [4.8, 21.1], undecided once one more claim of the paper was tested.
    """
    yield paired(results, EASY, RANDOM, "seen/fine/nmi")


@claim("eps-figure-2", "eps-table1")
def figure_2_table1(results: Results) -> Iterator[Comparison]:
    """NMI of the digits, with as many clusters as digits, stands for the separation that the figure shows."""
    yield paired(results, EASY, RANDOM, "seen/fine/nmi")


@claim("eps-figure-2-parity", "eps-table1")
def figure_2_parity(results: Results) -> Iterator[Comparison]:
    for score in ("seen/coarse/recall@1", "test/coarse/recall@1"):
        yield paired(results, EASY, RANDOM, score)


@claim("eps-table-2-cars", "eps-table2")
def table_2_cars(results: Results) -> Iterator[Comparison]:
    yield paired(results, EASY, OTHERS, TEST, where={"dataset": "cars196"}, each=["loss"])


@claim("eps-table-2-cub", "eps-table2")
def table_2_cub(results: Results) -> Iterator[Comparison]:
    yield paired(results, EASY, OTHERS, TEST, where={"dataset": "cub200"}, each=["loss"])


@claim("eps-table-2-all", "eps-table2")
def table_2_all(results: Results) -> Iterator[Comparison]:
    for score in (TEST, "test/fine/recall@2", "test/fine/recall@4", "test/fine/nmi", "test/fine/nmi+"):
        yield paired(results, EASY, OTHERS, score, each=["dataset", "loss"])
    yield paired(
        results, {"loss": "triplet", "positives": "easy", "negatives": "semihard_random"}, PROXY, TEST, each=["dataset"]
    )
    yield paired(
        results,
        {"loss": "margin", "positives": "easy", "negatives": "distance_weighted"},
        PROXY,
        TEST,
        each=["dataset"],
    )
    yield paired(
        results,
        {"loss": "multi_similarity", "positives": "easy", "negatives": "multi_similarity"},
        PROXY,
        TEST,
        each=["dataset"],
    )


@claim("eps-table-3-letters", "eps-table3-resnet50")
def table_3_letters(results: Results) -> Iterator[Comparison]:
    learned = reached(results, OTHERS, "train/coarse/recall@1", 95)
    for score in (TEST, "test/fine/nmi"):
        yield paired(results, EASY, OTHERS, score, each=["loss"], condition=learned)


@claim("eps-table-3-letters", "eps-table3-ten", stand_in="a network from scratch at 28 x 28 in place of ResNet-50")
def table_3_letters_table3_ten(results: Results) -> Iterator[Comparison]:
    yield from table_3_letters.function(results)


@claim("eps-table-3-languages", "eps-table3-resnet50")
def table_3_languages(results: Results) -> Iterator[Comparison]:
    learned = reached(results, OTHERS, "train/coarse/recall@1", 95)
    for score in ("test/coarse/recall@1", "test/coarse/nmi+"):
        yield paired(results, EASY, OTHERS, score, each=["loss"], condition=learned)


@claim("eps-table-3-languages", "eps-table3-ten", stand_in="a network from scratch at 28 x 28 in place of ResNet-50")
def table_3_languages_table3_ten(results: Results) -> Iterator[Comparison]:
    yield from table_3_languages.function(results)


@claim("eps-gain-sub-clusters", "eps-modes")
def gain_sub_clusters(results: Results) -> Iterator[Comparison]:
    for score in (TEST, "test/fine/nmi"):
        yield slope(results, "dataset", EASY, RANDOM, score, values={"one-mode": 1, "three-modes": 3})


@claim("eps-nmi-plus", "eps-table3-resnet50", "eps-table3-ten")
def nmi_plus(results: Results) -> Iterator[Comparison]:
    learned = reached(results, OTHERS, "train/coarse/recall@1", 95)
    yield paired(
        results,
        EASY,
        OTHERS,
        "train/coarse/nmi",
        each=["loss"],
        below=0,
        condition=learned,
        note="The two tests together, fewer NMI on the training classes and more NMI+, are the claim.",
    )
    yield paired(
        results,
        EASY,
        OTHERS,
        "train/coarse/nmi+",
        each=["loss"],
        condition=learned,
        note="The claim says what can happen, not what always does.",
        disputed="the paper's triplet on Cars196 is a case of what it says can happen (NMI -5.3, NMI+ +1.3)",
    )


@claim("eps-nmi-plus", "eps-fig4")
def nmi_plus_plane(results: Results) -> Iterator[Comparison]:
    """The two tests together, less NMI of even and odd and more NMI+, are the claim. It says what can happen, so one
    case does not refute it.
    """
    learned = reached(results, {"loss": "triplet"}, "seen/coarse/recall@1", 95)
    directions: tuple[tuple[str, dict[str, Any]], ...] = (("nmi", {"below": 0}), ("nmi+", {"above": 0}))
    for metric, expected in directions:
        score = f"seen/coarse/{metric}"
        made = paired(results, EASY, RANDOM, score, where={"loss": "triplet"}, condition=learned, **expected)
        other = any((e.mean > 0) == ("below" in expected) for e in made.effects)
        yield replace(made, disputed="the claim says what can happen" if other else "")


@claim("eps-figure-4", "eps-fig4", stand_in="MNIST and a perceptron in place of letters and ResNet-50")
def figure_4(results: Results) -> Iterator[Comparison]:
    """Trimming brings less than three points, at any share at which the network still learns even against odd. Untuned
    networks asked first (+1.3 [-8.0, 10.7] with 90% kept).
    """
    yield paired(
        results,
        {"loss": "trimmed", "positives": "random", "loss.keep": [0.95, 0.9, 0.8]},
        {"loss": "triplet", "positives": "random", "loss.keep": None},
        SEEN,
        each=["loss.keep"],
        below=3,
    )


@claim("eps-trim-positives", "eps-fig4")
def trim_positives(results: Results) -> Iterator[Comparison]:
    """Easy positives stand for trimming positives only. Untuned networks asked first (+6.0 [2.6, 9.4])."""
    learned = reached(results, {"loss.keep": [None, 0.9]}, "seen/coarse/recall@1", 95)
    yield paired(
        results,
        {"loss": "triplet", "positives": "easy", "loss.keep": None},
        {"loss": "trimmed", "positives": "random", "loss.keep": 0.9},
        SEEN,
        condition=learned,
    )


@claim("eps-figure-5b", "eps-fig5b", stand_in="a small network from scratch in place of ResNet-50")
def figure_5b(results: Results) -> Iterator[Comparison]:
    """The lead over random positives of the same batches, since fewer languages change both."""
    learned = reached(results, RANDOM, "train/coarse/recall@1", 95)
    yield slope(results, "training.batch.per_class", EASY, RANDOM, TEST, scale="log", condition=learned)


@claim("eps-table-4-languages", "eps-table3-resnet50")
def table_4_languages(results: Results) -> Iterator[Comparison]:
    learned = reached(results, {"loss": "triplet", "positives": "semihard"}, "train/coarse/recall@1", 95)
    yield paired(
        results,
        {"loss": "triplet", "positives": "easy"},
        {"loss": "triplet", "positives": "semihard"},
        "train/coarse/nmi",
        below=0,
        condition=learned,
        published=-26.3,
    )
    yield paired(
        results,
        {"loss": "triplet", "positives": "easy"},
        {"loss": "triplet", "positives": "semihard"},
        "train/coarse/recall@1",
        below=0,
        condition=learned,
        published=-5.4,
    )


@claim("eps-table-4-languages", "eps-table3-ten", stand_in="a small network from scratch in place of ResNet-50")
def table_4_languages_table3_ten(results: Results) -> Iterator[Comparison]:
    yield from table_4_languages.function(results)


@claim("eps-table-4-letters", "eps-table3-resnet50")
def table_4_letters(results: Results) -> Iterator[Comparison]:
    learned = reached(results, {"loss": "triplet", "positives": "semihard"}, "train/coarse/recall@1", 95)
    yield paired(
        results,
        {"loss": "triplet", "positives": "easy"},
        {"loss": "triplet", "positives": "semihard"},
        "train/fine/recall@1",
        condition=learned,
        published=7.2,
    )
    yield paired(
        results,
        {"loss": "triplet", "positives": "easy"},
        {"loss": "triplet", "positives": "semihard"},
        "train/fine/nmi",
        condition=learned,
        published=8.7,
    )


@claim("eps-table-4-letters", "eps-table3-ten", stand_in="a small network from scratch in place of ResNet-50")
def table_4_letters_table3_ten(results: Results) -> Iterator[Comparison]:
    yield from table_4_letters.function(results)


@claim("eps-table-6", "eps-table6")
def table_6(results: Results) -> Iterator[Comparison]:
    yield paired(
        results,
        EASY,
        {"positives": "multi_similarity"},
        TEST,
        where={"dataset": "cars196"},
        condition=reached(results, {"dataset": "cars196", "positives": "multi_similarity"}, TEST, 75),
        published=1.4,
        note=(
            "The paper's network starts from ImageNet weights and reaches 84.1; without them the claim is not tested."
        ),
    )
    yield paired(
        results,
        EASY,
        {"positives": "multi_similarity"},
        TEST,
        where={"dataset": "cub200"},
        condition=reached(results, {"dataset": "cub200", "positives": "multi_similarity"}, TEST, 55),
        published=1,
        note=(
            "The paper's network starts from ImageNet weights and reaches 65.7; without them the claim is not tested."
        ),
    )


@claim("eps-ms-batch", "eps-ms-batch-numbers")
def ms_batch(results: Results) -> Iterator[Comparison]:
    yield slope(
        results,
        "training.batch.classes",
        {"loss": "multi_similarity", "positives": "multi_similarity", "negatives": "multi_similarity"},
        {"loss": ["triplet", "margin"], "positives": "random", "negatives": ["semihard_random", "distance_weighted"]},
        TEST,
        scale="log",
    )


@claim(
    "",
    "eps-noise",
    paper="label noise",
    text="Under label noise easy positives keep the digits of even and odd apart better than random ones do.",
)
def digits_under_noise(results: Results) -> Iterator[Comparison]:
    """Asked after a look at the figure; the mean over the four rates."""
    learned = reached(results, CLEAN, "seen/coarse/recall@1", 95)
    yield paired(
        results,
        EASY,
        RANDOM,
        SEEN,
        where={"rate": [0.1, 0.2, 0.3, 0.4]},
        each=["loss"],
        condition=learned,
        disputed=(
            "at 20% noise a larger network has a lead of 0.3 points, one of this size of -8.5 "
            "(benchmarks/second_looks/mnist_noise.py)"
        ),
    )


@claim(
    "",
    "eps-noise",
    paper="label noise",
    text=("Under label noise easy positives raise the NMI of the digits of even and odd above that of random ones."),
)
def nmi_under_noise(results: Results) -> Iterator[Comparison]:
    """Asked after a look at the data; the mean over the four rates."""
    learned = reached(results, CLEAN, "seen/coarse/recall@1", 95)
    yield paired(
        results, EASY, RANDOM, "seen/fine/nmi", where={"rate": [0.1, 0.2, 0.3, 0.4]}, each=["loss"], condition=learned
    )


@claim(
    "",
    "flowers-frozen",
    paper="fine-grained",
    text=("Easy positives have a higher R@1 of new classes than random positives, with clean labels of one level."),
    place="clean labels",
)
def flowers_clean(results: Results) -> Iterator[Comparison]:
    yield paired(results, EASY, RANDOM, TEST, where=CLEAN, each=["loss"])


@claim(
    "",
    "flowers-frozen",
    paper="fine-grained",
    text=(
        "Easy positives have a higher R@1 of new classes than random positives, with a quarter or half of "
        "the labels wrong."
    ),
    place="noisy labels",
)
def flowers_noisy(results: Results) -> Iterator[Comparison]:
    yield paired(results, EASY, RANDOM, TEST, where={"noise": "uniform", "rate": [0.25, 0.5]}, each=["loss"])


@claim(
    "",
    "flowers-frozen",
    paper="fine-grained",
    text="The lead of easy positives grows with the noise rate.",
    place="noisy labels",
)
def flowers_lead_grows(results: Results) -> Iterator[Comparison]:
    yield slope(results, "rate", EASY, RANDOM, TEST, where={"noise": "uniform"}, each=["loss"])
