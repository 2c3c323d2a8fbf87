"""What holds for every pair of policies."""

import itertools
import pickle

import pytest
import torch
from torch._subclasses.fake_tensor import DynamicOutputShapeException, FakeTensorMode

from dml import discovery
from dml.miners import build
from dml.types import Pairs

POSITIVES = discovery.names("dml.miners.positives")
NEGATIVES = discovery.names("dml.miners.negatives")
PAIRS = list(itertools.product(POSITIVES, NEGATIVES))

pytestmark = pytest.mark.parametrize(("positives", "negatives"), PAIRS)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


SETTINGS = ({}, {"normalize": False, "margin": 1.0}, {"distance": "squared", "window": True})


@pytest.mark.parametrize("batch", [{"seed": 0}, {"seed": 1}, {"seed": 5, "sizes": (14, 3, 6)}])
def test_definition(positives, negatives, batch, tools):
    """The last one has more places for positives than the passes over them are made for."""
    embeddings, labels = tools.random_batch(**batch)
    for settings in SETTINGS:
        mine = build(positives=positives, negatives=negatives, **settings)
        own = {key: value for key, value in settings.items() if key != "distance"}
        naive = tools.Naive(embeddings, labels, squared="distance" in settings, **own)
        tools.check(mine(embeddings, labels, generator=generator()), naive, positives, negatives)


def test_padded_and_compact_are_the_same_triples(positives, negatives, tools):
    embeddings, labels = tools.random_batch(1)
    compact, padded = (build(positives=positives, negatives=negatives, padded=padded) for padded in (False, True))
    kept, dense = (mine(embeddings, labels, generator=generator()) for mine in (compact, padded))
    assert tools.triples(kept) == tools.triples(dense)
    assert len(kept.anchors) == len(tools.triples(kept)) == int(compact.stats["tuples"]) == int(padded.stats["tuples"])
    assert (min(map(int, kept.anchors), default=0)) >= 0
    several = tools.Naive.keeps_all("positives", positives)
    assert isinstance(dense, Pairs) == tools.Naive.keeps_all("negatives", negatives)
    rows = len(labels) * (4 if several and not isinstance(dense, Pairs) else 1)  # the largest class has five samples
    assert all(len(column) == rows for column in dense)


def test_dropped_anchors_are_counted(positives, negatives, tools):
    embeddings, labels = tools.random_batch(2)
    for padded in (False, True):
        mine = build(positives=positives, negatives=negatives, padded=padded)
        found = tools.triples(mine(embeddings, labels, generator=generator()))
        assert int(mine.stats["dropped_anchors"]) == len(labels) - len({a for a, _, _ in found})
        assert int(mine.stats["dropped_anchors"]) >= 1  # the class with one sample
        assert int(mine.stats["cut_positives"]) == 0


EMPTY = ([], [3], [3, 3], [3, 4], [1, 1, 1, 1, 1], [1, 2, 3, 4, 5])


@pytest.mark.parametrize("padded", [False, True])
def test_batches_without_a_triple(positives, negatives, padded, tools):
    mine = build(positives=positives, negatives=negatives, padded=padded)
    for labels in EMPTY:
        embeddings = torch.randn(len(labels), 4, generator=generator())
        tuples = mine(embeddings, torch.tensor(labels, dtype=torch.int64), generator=generator())
        assert tools.triples(tuples) == set()
        assert int(mine.stats["dropped_anchors"]) == len(labels)
        if isinstance(tuples, Pairs):
            assert not tuples.positives.any()
            assert not tuples.negatives.any()


@pytest.mark.parametrize("kind", ["duplicates", "identical", "zeros", "opposite"])
def test_degenerate_embeddings(positives, negatives, kind, tools):
    embeddings, labels = tools.random_batch(3, sizes=(4, 4, 4))
    if kind == "duplicates":
        embeddings[1::2] = embeddings[::2]  # across and within classes
    elif kind == "identical":
        embeddings[:] = embeddings[0]
    elif kind == "zeros":
        embeddings[::3] = 0
    else:
        embeddings = torch.where(labels[:, None] == 0, embeddings[0], -embeddings[0])
    for dtype, normalize in ((torch.float32, True), (torch.float64, True), (torch.float32, False)):
        mine = build(positives=positives, negatives=negatives, normalize=normalize)
        found = tools.triples(mine(embeddings.to(dtype), labels, generator=generator()))
        for a, p, n in found:
            assert a != p
            assert labels[a] == labels[p] != labels[n]
        if tools.Naive.always("positives", positives) and tools.Naive.always("negatives", negatives):
            assert {a for a, _, _ in found} == set(range(12))


def test_not_a_number_gives_no_wrong_triple(positives, negatives, tools):
    """A diverged network is found by its loss; its tuples are still class mates and strangers."""
    for sizes in ((4, 4, 4), (14, 3)):
        embeddings, labels = tools.random_batch(3, sizes=sizes)
        for bad in (embeddings * torch.nan, embeddings.index_fill(0, torch.tensor([2, 7]), torch.nan)):
            for a, p, n in tools.triples(build(positives=positives, negatives=negatives)(bad, labels)):
                assert a != p
                assert labels[a] == labels[p] != labels[n]


def test_same_seed_same_tuples_and_no_global_state(positives, negatives, tools):
    embeddings, labels = tools.random_batch(4, sizes=(6,) * 8)
    mine = build(positives=positives, negatives=negatives)
    before = torch.random.get_rng_state()
    first, again, other = (mine(embeddings, labels, generator=generator(seed)) for seed in (7, 7, 8))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(map(torch.equal, first, again))
    if tools.draws(mine, embeddings, labels):
        assert tools.triples(first) != tools.triples(other)
    else:
        assert all(map(torch.equal, first, other))
        assert all(map(torch.equal, first, mine(embeddings, labels)))


def test_permutation(positives, negatives, tools):
    embeddings, labels = tools.random_batch(6)
    order = torch.randperm(len(labels), generator=generator())
    mine = build(positives=positives, negatives=negatives)
    if tools.draws(mine, embeddings, labels):
        return
    moved = tools.triples(mine(embeddings[order], labels[order]))
    assert {tuple(int(order[i]) for i in row) for row in moved} == tools.triples(mine(embeddings, labels))


def test_low_precision_is_mined_in_float32(positives, negatives, tools):
    embeddings, labels = tools.random_batch(7, dtype=torch.bfloat16)
    embeddings.requires_grad_()
    mine = build(positives=positives, negatives=negatives)
    expected = mine(embeddings.detach().float(), labels, generator=generator())
    assert all(map(torch.equal, mine(embeddings, labels, generator=generator()), expected))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert all(map(torch.equal, mine(embeddings.float(), labels, generator=generator()), expected))


def test_it_can_be_pickled(positives, negatives, tools):
    embeddings, labels = tools.random_batch(9)
    mine = build(positives=positives, negatives=negatives)
    sent = pickle.loads(pickle.dumps(mine))
    found = (m(embeddings, labels, generator=generator()) for m in (mine, sent))
    assert all(map(torch.equal, *found))


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_samples_left_out_are_in_no_tuple_and_change_none(positives, negatives, padded, seed, tools):
    """The same definition as for the batch without them."""
    embeddings, labels = tools.random_batch(seed, sizes=(5, 4, 3, 6, 2))
    kept = torch.rand(len(labels), generator=generator(seed)) > 0.3
    place = kept.nonzero()[:, 0]
    mine = build(positives=positives, negatives=negatives, padded=padded)
    chosen = tools.triples(mine(embeddings, labels, generator=generator(seed), kept=kept))
    stats = dict(mine.stats)
    own = {int(row): number for number, row in enumerate(place)}  # a sample left out has no number there
    moved = sorted(tuple(own[i] for i in row) for row in chosen)
    columns = tuple(torch.tensor(moved, dtype=torch.int64).reshape(-1, 3).T)
    tools.check(columns, tools.Naive(embeddings[kept], labels[kept]), positives, negatives)
    mine(embeddings[kept], labels[kept], generator=generator(seed))
    assert stats == mine.stats or tools.draws(mine, embeddings, labels)
    assert int(stats["dropped_anchors"]) == len(place) - len({a for a, _, _ in chosen})


@pytest.mark.parametrize("width", [4, None])
def test_the_padded_path_never_asks_the_device(positives, negatives, width, tools):
    """Fake tensors have a shape but no values: anything that needs a value on the host raises."""
    with FakeTensorMode():
        embeddings = torch.empty(32, 8, device="cuda")
        mine = build(positives=positives, negatives=negatives, padded=True, max_per_class=width)
        labels, kept = (torch.empty(32, dtype=kind, device="cuda") for kind in (torch.int64, torch.bool))
        mine(embeddings, labels, kept=kept)
        tuples = mine(embeddings, labels)
        assert all(v.shape == () for v in mine.stats.values())
        several = tools.Naive.keeps_all("positives", positives) and not isinstance(tuples, Pairs)
        assert all(len(column) == 32 * ((width or 32) - 1 if several else 1) for column in tuples)
        with pytest.raises(DynamicOutputShapeException):  # as a compact result does
            (embeddings > 0).nonzero()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
class TestCuda:
    @pytest.mark.parametrize("width", [4, None])
    def test_no_synchronisation(self, positives, negatives, width, tools, without_waiting):
        embeddings, labels = (t.cuda() for t in tools.random_batch(1, sizes=(4,) * 8, dtype=torch.float32))
        on_device = torch.Generator("cuda").manual_seed(0)
        mine = build(positives=positives, negatives=negatives, padded=True, max_per_class=width)
        for source in (on_device, generator(), None):
            mine(embeddings, labels, generator=source)  # first use may set up a library
            torch.cuda.synchronize()
            with without_waiting():
                mine(embeddings, labels, generator=source)

    def test_the_same_as_on_the_cpu(self, positives, negatives, tools):
        embeddings, labels = tools.random_batch(2)
        for padded in (False, True):
            mine = build(positives=positives, negatives=negatives, padded=padded, max_per_class=5)
            here = tools.triples(mine(embeddings, labels, generator=generator()))
            there = tools.triples(mine(embeddings.cuda(), labels.cuda(), generator=generator()))
            assert here == there
