"""What holds for every filter."""

import inspect
import io
from contextlib import nullcontext

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from dml import discovery, filters

NAMES = discovery.names("dml.filters")
SETTINGS = {"rate": 0.3, "memory": 60, "window": 4, "warm_up": 2}

pytestmark = pytest.mark.parametrize("name", NAMES)


@pytest.fixture
def make(tools):
    def made(name, classes=5, size=6, **settings):
        part = discovery.find("dml.filters", name)
        given = discovery.accepted(part, {**SETTINGS, **settings})
        return tools.ready(filters.build_for(name, given, num_classes=classes, embedding_size=size), classes, size)

    return made


def test_a_mask_that_keeps_some(name, tools, make):
    keep = make(name)
    for embeddings, labels, _ in tools.noisy_batches(20):
        kept = keep(embeddings.requires_grad_(), labels)
        assert kept.dtype == torch.bool
        assert kept.shape == labels.shape
        assert kept.any()
        assert float(keep.stats["kept_share"]) == pytest.approx(float(kept.float().mean()))
        assert not any(value.requires_grad for value in keep.state_dict().values() if isinstance(value, torch.Tensor))


def test_the_same_samples_in_another_order(name, tools, make):
    one, two = make(name), make(name)
    for seed, (embeddings, labels, _) in enumerate(tools.noisy_batches(12)):
        order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
        order = order if seed > 10 else torch.arange(len(labels))  # the memory's order decides what it forgets
        assert torch.equal(one(embeddings, labels)[order], two(embeddings[order], labels[order]))


def test_the_same_again_without_any_random_state(name, tools, make):
    before = torch.random.get_rng_state()
    runs = [[keep(e, y).tolist() for e, y, _ in tools.noisy_batches(10)] for keep in (make(name), make(name))]
    assert runs[0] == runs[1]
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize("at", [0, 1, 9])
def test_a_restored_state_continues_bit_for_bit(name, at, tools, make):
    batches = list(tools.noisy_batches(20))
    whole = make(name)
    expected = [whole(e, y).tolist() for e, y, _ in batches]
    first, second = make(name), make(name)
    found = [first(e, y).tolist() for e, y, _ in batches[:at]]
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    second.load_state_dict(torch.load(io.BytesIO(file.getvalue()), weights_only=True))
    found += [second(e, y).tolist() for e, y, _ in batches[at:]]
    assert found == expected
    one, two = whole.state_dict(), second.state_dict()
    for key, value in one.items():
        assert torch.equal(value, two[key]) if isinstance(value, torch.Tensor) else value == two[key]


def test_low_precision_is_judged_in_float32(name, tools, make):
    one, two, three = make(name), make(name), make(name)
    for embeddings, labels, _ in tools.noisy_batches(8):
        half = embeddings.bfloat16()
        expected = one(half.float(), labels)
        assert torch.equal(two(half, labels), expected)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert torch.equal(three(half.float(), labels), expected)


@pytest.mark.parametrize("kind", ["one class", "identical", "zeros", "one sample"])
def test_degenerate_batches(name, kind, tools, make):
    keep = make(name)
    for embeddings, labels, _ in tools.noisy_batches(8):
        if kind == "one class":
            labels = torch.zeros_like(labels)
        elif kind == "identical":
            embeddings = torch.ones_like(embeddings)
        elif kind == "zeros":
            embeddings = torch.zeros_like(embeddings)
        else:
            embeddings, labels = embeddings[:1], labels[:1]
        assert keep(embeddings, labels).any()
        assert all(torch.isfinite(value) for value in keep.stats.values())


@pytest.mark.parametrize("at", [0, 6])
def test_rows_that_are_not_finite_are_left_out_and_leave_nothing_behind(name, at, tools, make):
    if name == "none":
        pytest.skip("keeps every sample")
    keep = make(name)
    for number, (embeddings, labels, _) in enumerate(tools.noisy_batches(10)):
        if number == at:
            embeddings[1:] = torch.nan
        kept = keep(embeddings, labels)
        assert kept.any() or number == at
        if number == at:
            assert not kept[1:].any()
    assert not any(value.isnan().any() for value in keep.state_dict().values() if isinstance(value, torch.Tensor))


def test_clean_labels_never_enter(name):
    part = discovery.find("dml.filters", name)
    assert list(inspect.signature(part.forward).parameters) == ["self", "embeddings", "labels"]


def test_it_never_asks_the_device(name, make):
    """Fake tensors have a shape but no values: anything that needs a value on the host raises."""
    with FakeTensorMode():
        keep = make(name).to(torch.device("cuda"))
        for _ in range(5):
            kept = keep(torch.empty(24, 6, device="cuda"), torch.empty(24, dtype=torch.int64, device="cuda"))
        assert kept.shape == (24,)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_on_a_gpu_the_same_without_synchronisation(name, tools, without_waiting, make):
    here, there = make(name), make(name).to("cuda")
    for number, (embeddings, labels, _) in enumerate(tools.noisy_batches(8)):
        inputs = embeddings.cuda(), labels.cuda()
        torch.cuda.synchronize()
        with without_waiting() if number > 3 else nullcontext():  # first use may set up a library
            kept = there(*inputs)
        assert kept.cpu().tolist() == here(embeddings, labels).tolist()
