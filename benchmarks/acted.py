"""What acting on suspects and what training gain, from a study's snapshot alone (docs/benchmarks/regime.md).

    python benchmarks/acted.py regime-cars-acted
    python benchmarks/acted.py regime-cars-unsuspected --draws

`dml` is not imported. Gains in R@1 and MAP@R, in points, with 95% intervals of a bootstrap over test classes and seeds;
they leave out the search. `--draws`: the study's ways to label are draws of the same, such as `first-draw` and
`first-draw-as-given`; the interval of their mean covers draws with their searches, and classes.
"""

import argparse

import numpy as np
from second_looks.published import R1, Mean, by_class, snapshot, spread

SCORES = {"R@1": R1, "MAP@R": "test/fine/map@r"}


def gain(first, second, queries, draws=5000):
    """The mean of first minus second, each (seeds, K), and its interval."""
    draw, gains = np.random.default_rng(0), []
    for _ in range(draws):
        classes = draw.integers(0, len(queries), len(queries))
        one, other = (side[draw.integers(0, len(side), len(side))][:, classes].mean(0) for side in (first, second))
        gains.append(np.average(one - other, weights=queries[classes]))
    mean = np.average(first.mean(0) - second.mean(0), weights=queries)
    low, high = np.quantile(gains, (0.025, 0.975))
    return f"{mean:+.1f} [{low:.1f}, {high:.1f}]"


def mean_of_draws(pairs, queries):
    """The mean gain of draws that each have their own search, with the interval of draws and classes."""
    gains = np.array([one.mean(0) - other.mean(0) for one, other in pairs])
    return Mean(gains @ queries / queries.sum(), classes=spread(gains.mean(0), queries))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", help="with whitening and one way to train, and a snapshot in docs/results")
    parser.add_argument("--draws", action="store_true", help="its ways to label are draws of the same")
    args = parser.parse_args()
    trials = snapshot(args.study)[0].query("phase == 'confirm'")
    noises = list(dict.fromkeys(trials["noise"]))
    over = ["its whitening"] + ([] if args.draws else ["the first's whitening", "the first trained"])
    for label, score in SCORES.items():
        print(f"| {label} of | whitened | trained | {' | '.join(f'trained over {what}' for what in over)} |")
        print("|---" * (3 + len(over)) + "|")
        sides = {}
        for noise in noises:
            rows = trials[trials["noise"] == noise]
            (free, queries), (trained, _) = (
                by_class(args.study, rows[rows["loss"] == loss], score) for loss in ("whitening", "multi_similarity")
            )
            free, trained = 100 * free, 100 * trained
            sides[noise] = free, trained
            others = [free, *sides[noises[0]]][: len(over)]
            means = [f"{np.average(side.mean(0), weights=queries):.1f}" for side in (free, trained)]
            if noise != noises[0] and not args.draws:
                means[0] += f" ({gain(free, others[1], queries)})"
            gains = [gain(trained, other, queries) for other in others]
            print(f"| {noise} | {' | '.join(means + gains)} |")
        if args.draws:
            ways: dict[str, dict[str, tuple]] = {}
            for noise, (free, trained) in sides.items():
                draw, _, way = noise.partition("-draw")
                ways.setdefault(way, {})[draw] = trained, free
            for way, draws in ways.items():
                print(f"| mean of draws{way} | | | {mean_of_draws(draws.values(), queries)} |")
            first, *others = ways.values()
            for other in others:
                pairs = [(first[draw][0], other[draw][0]) for draw in first]
                print(f"| trained, the first over the other | | | {mean_of_draws(pairs, queries)} |")


if __name__ == "__main__":
    main()
