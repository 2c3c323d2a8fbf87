"""What every loss must do, whatever it computes. A new loss is found here by its file."""

from __future__ import annotations

import copy
import itertools

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import dml.losses
from dml import discovery
from dml.losses import _triplets, quadruplet
from dml.types import Choice, LogUniform, Pairs, Tuples, Uniform

CLASSES, SIZE = 8, 16
VARIANTS = {
    "contrastive": [{}, {"form": "squared", "reduction": "nonzero"}],
    "triplet": [{}, {"distance": "squared", "reduction": "mean"}, {"swap": True}, {"synthesis": "loop"}],
    "margin": [{}, {"beta_per": "none"}, {"beta_per": "all", "reduction": "sum"}],
    "multi_similarity": [{}, {"synthesis": "loop"}, {"synthesis": "embedding_expansion"}],
    "lifted_hinge": [{}, {"synthesis": "loop"}, {"synthesis": "loop_linear"}],
    "hphn_triplet": [{}, {"synthesis": "loop"}, {"synthesis": "embedding_expansion"}],
    "softmax": [{}, {"normalized": False}],
    "trimmed": [{"loss": "triplet"}, {"loss": "margin"}, {"loss": "proxy_nca"}],
}
NAMES = discovery.names("dml.losses")
CASES = [pytest.param(n, s, id="-".join([n, *map(str, s.values())])) for n in NAMES for s in VARIANTS.get(n, [{}])]
every_loss = pytest.mark.parametrize(("name", "settings"), CASES)

# The definition of these is over sets of pairs or over triples, so that all forms that hold the same pairs agree.
OVER_SETS = ("triplet", "multi_similarity", "histogram", "lifted_structure", "quadruplet")


def build(name, settings, dtype=torch.float32, **more):
    known = discovery.settings_of(discovery.find("dml.losses", name))
    fill = {k: v for k, v in {"num_classes": CLASSES, "embedding_size": SIZE}.items() if k in known}
    torch.manual_seed(0)
    loss = dml.losses.build(name, **{**fill, **settings, **more})
    return loss.double() if dtype == torch.float64 else loss


def batch(seed=0, sizes=(4, 1, 3, 2, 1, 5, 4, 4), dtype=torch.float32):
    g = torch.Generator().manual_seed(seed)
    y = torch.cat([torch.full((size,), k) for k, size in enumerate(sizes)])
    x = torch.randn(len(y), SIZE, generator=g, dtype=torch.float64) + 0.5
    order = torch.randperm(len(y), generator=g)
    return x[order].to(dtype), y[order]


def run(loss, x, y, tuples=None, autocast=False):
    x = x.clone().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        value = loss(x, y, tuples)
    assert value.shape == ()
    assert value.requires_grad
    value.backward()
    return value.detach(), x.grad if x.grad is not None else torch.zeros_like(x)


def all_triples(y):
    positives, negatives = all_pairs(y)
    return Tuples(*(positives[:, :, None] & negatives[:, None]).nonzero().T)


def all_pairs(y):
    same = y[:, None] == y
    return Pairs(same & ~torch.eye(len(y), dtype=torch.bool), ~same)


def in_all_forms(y):
    listed = (*all_pairs(y).positives.nonzero(as_tuple=True), *all_pairs(y).negatives.nonzero(as_tuple=True))
    return {"none": None, "triples": all_triples(y), "pairs": all_pairs(y), "lists": listed}


@every_loss
@pytest.mark.parametrize("form", ["none", "triples", "pairs", "lists"])
def test_finite_and_attached(name, settings, form):
    x, y = batch()
    value, gradient = run(build(name, settings), x, y, in_all_forms(y)[form])
    assert torch.isfinite(value)
    assert value > 0
    assert torch.isfinite(gradient).all()
    assert gradient.abs().max() > 0


@every_loss
@pytest.mark.parametrize(
    "degenerate",
    [
        "identical",
        "zero",
        "some_zero",
        "opposite",
        "duplicates",
        "nearly",
        "tiny",
        "huge",
        "one_class",
        "one_sample",
        "none_alike",
    ],
)
def test_degenerate_batches_are_no_nan(name, settings, degenerate):
    x, y = batch()
    if degenerate == "identical":
        x = x[:1].expand(len(x), -1).clone()
    elif degenerate == "zero":
        x = torch.zeros_like(x)
    elif degenerate == "some_zero":
        x[::3] = 0
    elif degenerate == "opposite":
        x = x[:1] * torch.tensor([1.0, -1.0]).repeat(len(x))[: len(x), None]
    elif degenerate == "duplicates":
        x = x[torch.arange(len(x)) // 3]
    elif degenerate == "nearly":
        x = x[:1] + 1e-6 * x
    elif degenerate == "tiny":
        x = x * 1e-25
    elif degenerate == "huge":
        x = x * 1e25
    elif degenerate == "one_class":
        y = torch.zeros_like(y)
    elif degenerate == "one_sample":
        x, y = x[:1], y[:1]
    else:
        x, y = x[:CLASSES], torch.arange(CLASSES)
    loss = build(name, settings)
    for form, tuples in in_all_forms(y).items():
        value, gradient = run(loss, x, y, tuples)
        assert torch.isfinite(value), form
        assert torch.isfinite(gradient).all(), form


@every_loss
@pytest.mark.parametrize("normalize", [True, False])
def test_embeddings_that_are_equal_are_not_pushed_about(name, settings, normalize):
    """All embeddings equal: whatever the loss, a gradient through distances is 0, and none may be huge."""
    if not normalize and settings.get("synthesis") == "loop":
        pytest.skip("loop runs along the unit sphere")
    x, y = batch()
    _, gradient = run(build(name, settings, normalize=normalize), x[:1].expand(len(x), -1).clone(), y)
    assert torch.isfinite(gradient).all()
    assert gradient.abs().max() < 1e3


@every_loss
@pytest.mark.parametrize("form", ["triples", "padding", "pairs", "lists"])
def test_no_tuples_at_all_is_a_loss_of_zero(name, settings, form):
    if not discovery.find("dml.losses", name).uses_tuples:
        pytest.skip("uses no tuples")
    if settings.get("synthesis") or settings.get("loss") == "proxy_nca":
        pytest.skip("makes its own tuples")
    x, y = batch()
    none = torch.zeros(0, dtype=torch.int64)
    nothing = torch.zeros(len(y), len(y), dtype=torch.bool)
    tuples = {
        "triples": Tuples(none, none, none),
        "padding": Tuples(*torch.full((3, 7), -1)),
        "pairs": Pairs(nothing, nothing),
        "lists": (none, none, none, none),
    }[form]
    value, gradient = run(build(name, settings), x, y, tuples)
    assert value == 0
    assert torch.all(gradient == 0)


@every_loss
@pytest.mark.parametrize("case", ["one_sample", "all_different"])
def test_without_positives_and_negatives_it_is_zero(name, settings, case):
    if name in ("proxy_nca", "softmax") or settings.get("loss") == "proxy_nca":
        pytest.skip("a loss on single samples")
    if case == "all_different" and name in (
        "contrastive",
        "margin",
        "multi_similarity",
        "binomial_deviance",
        "trimmed",
    ):
        pytest.skip("negative pairs alone are something")
    x, y = batch()
    x, y = (x[:1], y[:1]) if case == "one_sample" else (x[:CLASSES], torch.arange(CLASSES))
    value, gradient = run(build(name, settings), x, y)
    assert value == 0
    assert torch.all(gradient == 0)


@every_loss
def test_the_order_of_the_batch_does_not_matter(name, settings):
    x, y = batch(dtype=torch.float64)
    loss = build(name, settings, torch.float64)
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(1))
    order = order[y[order].sort(stable=True).indices]
    # Within a class the order stays: pairs "of alternate samples" hang on it.
    within = torch.cat([(y == c).nonzero()[:, 0] for c in y[order].unique_consecutive().flip(0)])
    value, gradient = run(loss, x, y)
    again, permuted = run(loss, x[within], y[within])
    torch.testing.assert_close(again, value)
    torch.testing.assert_close(permuted, gradient[within])


@every_loss
def test_large_class_ids_do_not_collide(name, settings):
    if {"num_classes"} & set(discovery.settings_of(discovery.find("dml.losses", name))) and settings.get(
        "loss"
    ) != "triplet":
        pytest.skip("class ids index parameters")
    x, y = batch()
    loss = build(name, settings)
    for shift in (2**24, 2**53):
        torch.testing.assert_close(loss(x, y + shift), loss(x, y))


@every_loss
def test_the_same_input_gives_the_same_bits(name, settings):
    x, y = batch()
    loss = build(name, settings)
    first, second = run(loss, x, y), run(copy.deepcopy(loss), x, y)
    assert torch.equal(first[0], second[0])
    assert torch.equal(first[1], second[1])


@every_loss
def test_forms_that_hold_the_same_tuples_agree(name, settings):
    x, y = batch(sizes=(4, 3, 2, 5, 4), dtype=torch.float64)
    loss = build(name, settings, torch.float64)
    forms = in_all_forms(y)
    values = {k: run(loss, x, y, form) for k, form in forms.items()}
    # Padding, and a plain tuple in place of Tuples, change nothing.
    values["padded"] = run(loss, x, y, Tuples(*(torch.cat((t, torch.full((9,), -1))) for t in forms["triples"])))
    values["foreign"] = run(loss, x, y, tuple(forms["triples"]))
    groups = [["none", "pairs", "lists"], ["triples", "padded", "foreign"]]
    if name in OVER_SETS:
        groups = [list(itertools.chain(*groups))]
    for group in groups:
        for other in group[1:]:
            torch.testing.assert_close(values[other][0], values[group[0]][0], msg=f"{other} != {group[0]}")
            torch.testing.assert_close(values[other][1], values[group[0]][1], msg=f"{other} != {group[0]}")


@every_loss
def test_float32_stays_near_float64(name, settings):
    """Stated bounds: 1e-5 for the value, and 1e-3 of the largest entry for the gradient."""
    x, y = batch(dtype=torch.float64)
    value, gradient = run(build(name, settings, torch.float64), x, y)
    single = build(name, settings)
    single.load_state_dict(build(name, settings, torch.float64).state_dict())
    got, got_gradient = run(single, x.float(), y)
    assert got.dtype == torch.float32
    torch.testing.assert_close(got.double(), value, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(got_gradient.double(), gradient, rtol=0, atol=1e-3 * float(gradient.abs().max()))


@every_loss
def test_autocast_computes_distances_in_float32(name, settings):
    """Under bfloat16 autocast the value is float32's own; for bfloat16 embeddings it is that of the same numbers."""
    x, y = batch()
    loss = build(name, settings)
    expected = run(loss, x, y)
    got = run(loss, x, y, autocast=True)
    torch.testing.assert_close(got[0], expected[0])
    torch.testing.assert_close(got[1], expected[1])
    half = x.bfloat16()
    expected = run(loss, half.float(), y)
    got = run(loss, half, y, autocast=True)
    assert got[1].dtype == torch.bfloat16
    torch.testing.assert_close(got[0], expected[0])
    torch.testing.assert_close(got[1].float(), expected[1], rtol=1e-2, atol=1e-2 * float(expected[1].abs().max()))


@every_loss
def test_no_gradient_is_computed_where_none_is_wanted(name, settings):
    x, y = batch()
    loss = build(name, settings)
    with torch.no_grad():
        value = loss(x.requires_grad_(), y)
    assert not value.requires_grad
    torch.testing.assert_close(value, loss(x, y).detach())


@every_loss
def test_its_search_space_is_of_its_settings(name, settings):
    part = discovery.find("dml.losses", name)
    known = discovery.settings_of(part)
    assert isinstance(part.uses_tuples, bool)
    assert "normalize" in known
    for key, space in part.search_space.items():
        assert key in known
        examples = space.options if isinstance(space, Choice) else (space.low, space.high)
        assert isinstance(space, (Choice, LogUniform, Uniform))
        for example in examples:
            build(name, {**settings, key: example})


@every_loss
def test_bad_shapes_are_refused(name, settings):
    x, y = batch()
    loss = build(name, settings)
    with pytest.raises(ValueError, match="labels"):
        loss(x, y[:-1])
    with pytest.raises(ValueError, match="embeddings"):
        loss(x[0], y)
    with pytest.raises(ValueError, match="unknown setting"):
        build(name, settings, marginn=1)


@every_loss
def test_what_it_learns_has_a_gradient_and_is_saved(name, settings):
    x, y = batch()
    loss = build(name, settings)
    run(loss, x, y)
    for key, parameter in loss.named_parameters():
        assert parameter.grad is not None
        assert torch.isfinite(parameter.grad).all()
        assert key in loss.state_dict()


def as_on_a_device(monkeypatch):
    for module in (_triplets, quadruplet):
        monkeypatch.setattr(module, "may_look", lambda tensor: False)


@every_loss
def test_what_it_logs_is_a_number_and_holds_no_graph(name, settings):
    """`active_share` above all: a mean over the tuples that are active scales gradients by its inverse."""
    x, y = batch()
    loss = build(name, settings)
    run(loss, x, y)
    logged = getattr(loss, "last", {})
    averages_over_active = settings.get("reduction", getattr(loss, "reduction", None)) == "nonzero"
    assert "active_share" in logged or not averages_over_active
    for key, number in logged.items():
        assert number.shape == ()
        assert not number.requires_grad
        assert not key.endswith("share") or 0 <= number <= 1


class _Sizes(TorchDispatchMode):
    """The largest number of entries of any tensor that an operation makes."""

    largest = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(tensor, torch.Tensor):
                self.largest = max(self.largest, tensor.numel())
        return result


@every_loss
@pytest.mark.parametrize("way", ["host", "device"])
def test_memory_is_of_the_order_of_n_squared(monkeypatch, name, settings, way):
    """No array has more than a few N^2 entries, whatever the classes, with no tuples given."""
    if name == "trimmed" and settings["loss"] == "triplet":
        pytest.skip("lists all triplets where none are given, as it says")
    monkeypatch.setattr(_triplets, "BLOCK", 1)
    if way == "device":
        as_on_a_device(monkeypatch)
    x, y = batch(sizes=(16, 16, 8, 4, 2, 2))
    with _Sizes() as sizes:
        run(build(name, settings), x, y)
    expansion = 4 if settings.get("synthesis") == "embedding_expansion" else 1  # (points + 2)^2 / 4
    table = 2**16 if name == "trimmed" else 0  # its counts by 16 bits of a loss, whatever N
    assert sizes.largest <= 4 * expansion * len(y) ** 2 + table


@every_loss
@pytest.mark.parametrize("form", ["none", "padded", "pairs"])
def test_nothing_waits_for_the_device(monkeypatch, name, settings, form):
    """On tensors that have shapes but no values, reading a value is an error, and so is a shape that hangs on one."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    if name == "trimmed" and settings["loss"] == "triplet" and form != "padded":
        pytest.skip("lists all triplets where none are given, as it says")
    as_on_a_device(monkeypatch)
    n = 24
    with FakeTensorMode():
        x = torch.empty(n, SIZE, requires_grad=True)
        y = torch.zeros(n, dtype=torch.int64)
        tuples = {
            "none": None,
            "padded": Tuples(*(torch.zeros(n, dtype=torch.int64) for _ in range(3))),
            "pairs": Pairs(*(torch.zeros(n, n, dtype=torch.bool) for _ in range(2))),
        }[form]
        loss = build(name, settings)
        loss(x, y, tuples).backward()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")
@every_loss
def test_compiled_it_gives_the_same(name, settings):
    x, y = batch()
    loss = build(name, settings)
    value, gradient = run(loss, x, y)
    torch._dynamo.reset()
    compiled = torch.compile(copy.deepcopy(loss), backend="aot_eager")
    got, got_gradient = run(compiled, x, y)
    torch.testing.assert_close(got, value)
    torch.testing.assert_close(got_gradient, gradient, rtol=1e-4, atol=1e-6)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@every_loss
@pytest.mark.parametrize("form", ["none", "triples", "pairs"])
def test_cuda_gives_the_same(name, settings, form):
    x, y = batch()
    tuples = in_all_forms(y)[form]
    loss = build(name, settings)
    value, gradient = run(loss, x, y, tuples)
    tuples = None if tuples is None else type(tuples)(*(t.cuda() for t in tuples))
    got, got_gradient = run(copy.deepcopy(loss).cuda(), x.cuda(), y.cuda(), tuples)
    torch.testing.assert_close(got.cpu(), value, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(got_gradient.cpu(), gradient, rtol=1e-3, atol=1e-4 * float(gradient.abs().max()) + 1e-7)


def test_an_unknown_loss_lists_those_there_are():
    with pytest.raises(ValueError, match=r"did you mean 'triplet'\? Choices: .*softmax"):
        dml.losses.build("triplett")


@pytest.mark.parametrize(
    "miner", ["TripletMarginMiner", "MultiSimilarityMiner", "BatchHardMiner", "DistanceWeightedMiner"]
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_takes_what_pytorch_metric_learning_mines(miner):
    miners = pytest.importorskip("pytorch_metric_learning.miners")
    x, y = batch()
    tuples = getattr(miners, miner)()(x, y)
    for name, settings in ((c.values[0], c.values[1]) for c in CASES):
        value, gradient = run(build(name, settings), x, y, tuples)
        assert torch.isfinite(value)
        assert torch.isfinite(gradient).all()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_builds_a_loss_of_another_package():
    losses = pytest.importorskip("pytorch_metric_learning.losses")
    loss = dml.losses.build("pytorch_metric_learning.losses.CircleLoss", m=0.3)
    assert isinstance(loss, losses.CircleLoss)
    x, y = batch()
    assert torch.isfinite(loss(x, y, all_triples(y)))
