import torch

from dml.miners import build

KEEPS_ALL = True


def reference(naive, a, p, chosen, settings):
    least = min(naive.s[a, q] for q in chosen)
    return [t for t in naive.others(a) if naive.s[a, t] > least - settings["epsilon"]]


def test_the_rule_given_an_easy_positive():
    """Similarities of anchor 0: mates 0.9 and 0.2; strangers 0.85, 0.5 and 0.15. epsilon 0.1."""
    cosines = torch.tensor([1.0, 0.9, 0.2, 0.85, 0.5, 0.15], dtype=torch.float64)
    plane = torch.stack([cosines, (1 - cosines**2).sqrt()], dim=1)
    labels = torch.tensor([0, 0, 0, 1, 2, 3])
    for positives, expected in (("easy", [3]), ("hard", [3, 4, 5]), ("all", [3, 4, 5])):
        pairs = build(positives=positives, negatives="multi_similarity", padded=True)(plane, labels)
        assert pairs.negatives[0].nonzero()[:, 0].tolist() == expected
