"""Every loss: precision, memory, devices, compilation."""

import copy

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from dml.losses import _forms, _triplets, quadruplet, ranks
from dml.types import Pairs, Tuples


def test_float32_stays_near_float64(check, case):
    """Stated bounds: 1e-5 for the value, and 1e-3 of the largest entry for the gradient."""
    x, y = check.contract_batch(dtype=torch.float64)
    exact, single = case.build(torch.float64), case.build()
    single.load_state_dict(exact.state_dict())
    value, gradient = check.run(exact, x, y)
    got, got_gradient = check.run(single, x.float(), y)
    assert got.dtype == torch.float32
    torch.testing.assert_close(got.double(), value, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(got_gradient.double(), gradient, rtol=0, atol=1e-3 * float(gradient.abs().max()))


def test_autocast_computes_distances_in_float32(check, case):
    """Under bfloat16 autocast the value is float32's; for bfloat16 embeddings it is that of the same numbers."""
    x, y = check.contract_batch()
    loss = case.build()
    expected = check.run(loss, x, y)
    got = check.run(loss, x, y, autocast=True)
    torch.testing.assert_close(got[0], expected[0])
    torch.testing.assert_close(got[1], expected[1])
    half = x.bfloat16()
    expected = check.run(loss, half.float(), y)
    got = check.run(loss, half, y, autocast=True)
    assert got[1].dtype == torch.bfloat16
    torch.testing.assert_close(got[0], expected[0])
    torch.testing.assert_close(got[1].float(), expected[1], rtol=1e-2, atol=1e-2 * float(expected[1].abs().max()))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_backward_pass_within_autocast_has_the_same_gradient(check, case, dtype):
    """Also near copies, across classes and within one, where the slope of a distance is large."""
    x, y = check.contract_batch()
    x = torch.nn.functional.normalize(x)
    x[1], x[3], x[7] = x[0], x[2] + 1e-3 * x[5], x[6] + 1e-5 * x[5]
    loss = case.build()
    gradients = []
    for forward, backward in ((False, False), (True, True), (True, False), (False, True)):
        leaf = x.clone().requires_grad_()
        loss.zero_grad()
        with torch.autocast("cpu", dtype, enabled=forward):
            value = loss(leaf, y)
        with torch.autocast("cpu", dtype, enabled=backward):
            value.backward()
        gradients.append([leaf.grad, *(parameter.grad for parameter in loss.parameters())])
    for found in gradients[1:]:
        for got, expected in zip(found, gradients[0], strict=True):
            torch.testing.assert_close(got, expected, rtol=0, atol=1e-6 * float(expected.abs().max()))


def test_float16_with_loss_scaling(check, case):
    """The scale that `torch.amp.GradScaler` starts with is infinite in float16; scaled gradients need not be."""
    x, y = check.contract_batch()
    loss = case.build()
    half = x.half()
    _, expected = check.run(loss, half.float(), y)
    scale = 65536.0
    weight = 0.2 / max(float(expected.abs().max()), 1e-6)  # keeps the scaled gradient below float16's 65504
    _, scaled = check.run(lambda *a: scale * weight * loss(*a), half, y)
    assert scaled.dtype == torch.float16
    wanted = expected * weight
    torch.testing.assert_close(scaled.float() / scale, wanted, rtol=2e-3, atol=2e-3 * float(wanted.abs().max()))


class _Sizes(TorchDispatchMode):
    """The largest number of entries of any tensor that an operation makes."""

    largest = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(tensor, torch.Tensor):
                self.largest = max(self.largest, tensor.numel())
        return result


def as_on_a_device(monkeypatch):
    for module in (_forms, _triplets, quadruplet, ranks):
        monkeypatch.setattr(module, "may_look", lambda tensor: False)


@pytest.mark.parametrize("way", ["host", "device"])
def test_memory_is_of_the_order_of_n_squared(monkeypatch, check, case, way):
    """Without tuples, no tensor has more than a few N^2 entries, for any classes."""
    if case.lists_triples:
        pytest.skip("documented: lists all triples if none are given")
    monkeypatch.setattr(_triplets, "BLOCK", 1)
    if way == "device":
        as_on_a_device(monkeypatch)
    x, y = check.contract_batch(sizes=(16, 16, 8, 4, 2, 2))
    with _Sizes() as sizes:
        check.run(case.build(), x, y)
    expansion = 4 if case.settings.get("synthesis") == "embedding_expansion" else 1  # (points + 2)^2 / 4
    table = 2**16 if case.name == "trimmed" else 0  # its counts by 16 bits of a loss, for any N
    assert sizes.largest <= 4 * expansion * len(y) ** 2 + table


@pytest.mark.parametrize("form", ["none", "padded", "pairs"])
def test_nothing_waits_for_the_device(monkeypatch, check, case, form):
    """Fake tensors have shapes but no values: reading a value is an error, and so is a shape that depends on one."""
    if case.lists_triples and form != "padded":
        pytest.skip("documented: lists all triples if none are given")
    as_on_a_device(monkeypatch)
    n = 24
    with FakeTensorMode():
        x = torch.empty(n, check.size, requires_grad=True)
        y = torch.zeros(n, dtype=torch.int64)
        tuples = {
            "none": None,
            "padded": Tuples(*(torch.zeros(n, dtype=torch.int64) for _ in range(3))),
            "pairs": Pairs(*(torch.zeros(n, n, dtype=torch.bool) for _ in range(2))),
        }[form]
        case.build()(x, y, tuples).backward()


def test_labels_and_tuples_may_be_on_the_host(check, case):
    """As trainers pass them beside embeddings on a GPU. Fake tensors of two devices in one operation are an error."""
    n = 24
    with FakeTensorMode():
        x = torch.empty(n, check.size, device="cuda")
        y = torch.zeros(n, dtype=torch.int64)
        tuples = Tuples(*(torch.zeros(n, dtype=torch.int64) for _ in range(3)))
        with torch.device("cuda"):
            loss = case.build()
        for given in (tuples,) if case.lists_triples else (None, tuples):
            assert loss(x, y, given).device == x.device


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")
def test_compiled_it_gives_the_same(check, case):
    if case.synthesises:
        pytest.skip("test_synthesis compiles each synthesis once")
    x, y = check.contract_batch()
    loss = case.build()
    value, gradient = check.run(loss, x, y)
    torch._dynamo.reset()
    compiled = torch.compile(copy.deepcopy(loss), backend="aot_eager")
    got, got_gradient = check.run(compiled, x, y)
    torch.testing.assert_close(got, value)
    torch.testing.assert_close(got_gradient, gradient, rtol=1e-4, atol=1e-6)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("form", ["none", "triples", "pairs"])
def test_cuda_gives_the_same(check, case, form):
    x, y = check.contract_batch()
    tuples = check.in_all_forms(y)[form]
    loss = case.build()
    value, gradient = check.run(loss, x, y, tuples)
    tuples = None if tuples is None else type(tuples)(*(t.cuda() for t in tuples))
    got, got_gradient = check.run(copy.deepcopy(loss).cuda(), x.cuda(), y.cuda(), tuples)
    torch.testing.assert_close(got.cpu(), value, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(got_gradient.cpu(), gradient, rtol=1e-3, atol=1e-4 * float(gradient.abs().max()) + 1e-7)
