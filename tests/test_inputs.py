"""Whatever takes embeddings, labels or tuples leaves them as they are, and names what it cannot take."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

import dml.audit
import dml.losses
import dml.miners
from dml import discovery, evaluation, filters, noise
from dml.cli.models import Embedded
from dml.cli.search_page import nearest
from dml.evaluation import Vectors, _search
from dml.evaluation.kmeans import kmeans
from dml.evaluation.ranking import Neighbours
from dml.miners._distances import PairDistances
from dml.miners.oracle_pairs import OraclePairs
from dml.miners.wrong_pairs import WrongPairs
from dml.training import closed_form
from dml.training.loop import step_loss
from dml.types import Pairs, Tuples

ROWS, WIDTH, CLASSES = 24, 6, 4
ARRAYS = ("array", "view", "columns", "read-only", "mapped", "tensor", "tensor view")
TENSORS = ("tensor", "tensor view")  # losses, miners and filters take nothing else
BACKENDS = ("torch", *(["faiss"] if _search.has_faiss() else []))
PRECISIONS = ("float16", "float32", "float64", "bfloat16")


class Giving:
    """Places values in memory in one way, and finds afterwards whether that memory has changed."""

    def __init__(self, form: str, precision: str, folder: Path) -> None:
        self._form, self._precision, self._folder = form, precision, folder
        self._watched: list[tuple[Callable[[], bytes], bytes]] = []

    def __call__(self, values: Any) -> Any:
        """The same values as an array or tensor; floats in this precision."""
        values = np.asarray(values)
        if values.dtype.kind == "f" and self._precision != "bfloat16":
            values = values.astype(self._precision)
        given, memory = self._placed(values)
        if values.dtype.kind == "f" and self._precision == "bfloat16":
            given = given.bfloat16()
            return self._watch(given, lambda: given.view(torch.int16).numpy().tobytes())
        return self._watch(given, memory.tobytes)

    def changed(self) -> bool:
        return any(now() != before for now, before in self._watched)

    def _watch(self, given: Any, now: Callable[[], bytes]) -> Any:
        self._watched.append((now, now()))
        return given

    def _placed(self, values: np.ndarray) -> tuple[Any, np.ndarray]:
        """The values, and the whole memory that they are part of."""
        memory = np.array(values)
        if self._form == "mapped":
            path = self._folder / f"{len(self._watched)}.npy"
            np.save(path, values)
            memory = np.load(path, mmap_mode="r+")
        elif self._form == "columns":
            memory = np.asfortranarray(values)
        elif self._form.endswith("view"):
            memory = np.zeros([2 * size for size in values.shape], values.dtype)
            memory[(slice(None, None, 2),) * values.ndim] = values
        if self._form.startswith("tensor"):
            every = torch.from_numpy(memory)
            return (every[(slice(None, None, 2),) * values.ndim] if self._form == "tensor view" else every), memory
        memory.flags.writeable = self._form != "read-only"
        return (memory[(slice(None, None, 2),) * values.ndim] if self._form == "view" else memory), memory


def batch() -> tuple[np.ndarray, np.ndarray]:
    """Embeddings of any length, one of them zero and two equal, and their labels."""
    draw = np.random.default_rng(0)
    labels = draw.permutation(np.arange(ROWS) % CLASSES)
    vectors = draw.normal(size=(CLASSES, WIDTH))[labels] + draw.normal(size=(ROWS, WIDTH))
    vectors[3], vectors[4] = 0, vectors[5]
    return vectors, labels


X, Y = batch()
SAME = (Y[:, None] == Y) & ~np.eye(ROWS, dtype=bool)
EVERY_TRIPLE = np.argwhere(SAME[:, :, None] & (Y[:, None] != Y)[:, None])
TRIPLES = np.concatenate([EVERY_TRIPLE[::40], [[-1] * 3]])  # and a row of padding


def tuples(give: Giving) -> Iterator[Any]:
    """Each form of tuples."""
    yield None
    yield Tuples(*(give(column) for column in TRIPLES.T))
    yield Pairs(give(SAME), give(Y[:, None] != Y))
    yield tuple(give(column) for column in (*SAME.nonzero(), *(Y[:, None] != Y).nonzero()))


def is_trained(name: str) -> bool:
    return dml.losses.closed_form_of(name) is None


def losses() -> Iterator[tuple[str, Callable[[Giving], Any]]]:
    for name in filter(is_trained, discovery.names("dml.losses")):
        part = discovery.find("dml.losses", name)
        choices = {key: space.options for key, space in part.search_space.items() if hasattr(space, "options")}
        if "synthesis" in discovery.defaults_of(part):
            choices["synthesis"] = dml.losses.synthesis.SYNTHESES
        variants = [{}, *({key: option} for key, options in choices.items() for option in options)]

        def run(give: Giving, name: str = name, variants: list[dict[str, Any]] = variants) -> None:
            for settings in variants:
                for normalize in (True, False):
                    if settings.get("synthesis") == "loop" and not normalize:
                        continue
                    known = {"num_classes": CLASSES, "embedding_size": WIDTH, "normalize": normalize}
                    loss = dml.losses.build_for(name, settings, **known)
                    for call in (loss, getattr(loss, "per_tuple", loss)):
                        for chosen in tuples(give):
                            found = call(give(X).requires_grad_(), give(Y), chosen)
                            (found if isinstance(found, torch.Tensor) else found[0]).sum().backward()

        yield f"loss {name}", run


def miners() -> Iterator[tuple[str, Callable[[Giving], Any]]]:
    kept = np.arange(ROWS) % 5 > 0
    for positives in discovery.names("dml.miners.positives"):
        for negatives in discovery.names("dml.miners.negatives"):

            def run(give: Giving, names: tuple[str, str] = (positives, negatives)) -> None:
                for normalize in (True, False):
                    for padded in (True, False):
                        named = dict(zip(("positives", "negatives"), names, strict=True))
                        mine = dml.miners.build(**named, normalize=normalize, padded=padded)
                        mine(give(X), give(Y), kept=give(kept))
                        mine(give(X), give(Y))

            yield f"miner {positives}, {negatives}", run
    yield "miner oracle_pairs", lambda give: OraclePairs("positives")(give(X), give(Y), give(Y[::-1].copy()))
    yield "miner wrong_pairs", lambda give: WrongPairs("positives", 0.5)(give(X), give(Y))

    def distances(give: Giving) -> None:
        for chosen in list(tuples(give))[1:]:
            PairDistances().update(give(X), give(Y), chosen, give(kept))

    yield "pair distances", distances
    hard = dml.miners.build(positives="all", negatives="hard")
    yield (
        "training step",
        lambda give: [
            step_loss(dml.losses.build(loss), mine, give(X).requires_grad_(), give(Y), give(kept), None)
            for loss in ("triplet", "multi_similarity")
            for mine in (None, hard)
        ],
    )


def built_filter(name: str, settings: Mapping[str, Any]) -> Any:
    keep = filters.build_for(name, settings, num_classes=CLASSES, embedding_size=WIDTH)
    if hasattr(keep, "watch"):
        keep.watch(dml.losses.Arcface(num_classes=CLASSES, embedding_size=WIDTH, centers=3))
    return keep


def all_filters() -> Iterator[tuple[str, Callable[[Giving], Any]]]:
    for name in discovery.names("dml.filters"):

        def run(give: Giving, name: str = name) -> None:
            part = discovery.find("dml.filters", name)
            keep = built_filter(name, discovery.accepted(part, {"rate": 0.3, "memory": 30, "warm_up": 1}))
            for _ in range(4):
                keep(give(X), give(Y))

        yield f"filter {name}", run


def noise_models(folder: Path) -> Iterator[tuple[str, Callable[[Giving], Any]]]:
    file = folder / "labels.csv"
    context = {"features": X, "given": Y[::-1].copy(), "index": np.arange(ROWS)}
    for name in discovery.names("dml.noise"):

        def run(give: Giving, name: str = name) -> None:
            file.write_text("index,label\n" + "".join(f"{row},{label}\n" for row, label in enumerate(Y)))
            part = discovery.find("dml.noise", name)
            model = part(**discovery.accepted(part, {"rate": 0.0 if name == "label_file" else 0.3, "path": file}))
            known = {key: give(context[key]) for key in part.context if key in context}
            for left_out in ((), tuple(known)[:1] if len(known) > 1 else ()):
                model.corrupt(give(Y), 0, **{key: value for key, value in known.items() if key not in left_out})

        yield f"noise {name}", run


def evaluations() -> Iterator[tuple[str, Callable[[Giving], Any]]]:
    for listed in evaluation.metric_names():
        name = listed.replace("@K", "@2")

        def run(give: Giving, name: str = name) -> None:
            for normalize in (True, False):
                options = {"normalize": normalize, "over_clustering": 2}
                evaluation.evaluate(give(X), give(Y), [name], **options)
                masks = {"queries": give(Y < 3), "gallery": give(Y > 0), "cameras": give(np.arange(ROWS) % 3)}
                evaluation.evaluate(give(X), {"fine": give(Y), "coarse": give(Y % 2)}, [name], **options, **masks)

        yield f"metric {name}", run

    def backends(give: Giving) -> None:
        for normalize in (True, False):
            for backend in BACKENDS:
                vectors = Vectors(give(X), normalize)
                kmeans(vectors, 5, backend=backend)
                every = torch.arange(ROWS)
                list(Neighbours(vectors, every, every, backend).blocks(3))

    yield "kmeans and neighbours", backends


def projections() -> Iterator[tuple[str, Callable[[Giving], Any]]]:
    for kind in closed_form.KINDS:

        def run(give: Giving, kind: str = kind) -> None:
            for size in (None, 3):
                found = closed_form.fit(kind, give(X), give(Y), size)
            rows = give(X)
            if not isinstance(rows, torch.Tensor):
                closed_form.apply(found, rows)

        yield f"closed form {kind}", run


def audits() -> Iterator[tuple[str, Callable[[Giving], Any]]]:
    large, labels = np.tile(X, (3, 1)) + np.arange(3).repeat(ROWS)[:, None] / 7, np.tile(Y, 3)

    def run(give: Giving) -> None:
        found = dml.audit.audit({"one": give(large), "two": give(large[:, ::-1].copy())}, give(labels), neighbours=5)
        dml.audit.review_plan(found, n=20)

    yield "audit", run
    yield "audit folds", lambda give: dml.audit.folds_of(give(labels))


def searches() -> Iterator[tuple[str, Callable[[Giving], Any]]]:
    paths = [Path(f"{row}.png") for row in range(ROWS)]
    yield "search", lambda give: nearest(Embedded(paths[:4], give(X[:4])), Embedded(paths, give(X)), 3)


def parts() -> list[Any]:
    """Each call, and the forms that it takes."""
    listed: list[Any] = []
    for forms, makers in (
        (TENSORS, (losses, miners, all_filters)),
        (ARRAYS, (evaluations, projections)),
        (("view", "mapped", "tensor"), (audits,)),
        (ARRAYS[:5], (searches,)),
    ):
        listed += [pytest.param(run, forms, id=name) for make in makers for name, run in make()]
    return listed


@pytest.mark.slow
@pytest.mark.parametrize(("run", "forms"), parts())
def test_inputs_stay_as_they_are(run, forms, tmp_path):
    for form in forms:
        for precision in PRECISIONS:
            if precision == "bfloat16" and not form.startswith("tensor"):
                continue  # NumPy has none
            folder = tmp_path / f"{form} {precision}"
            folder.mkdir()
            give = Giving(form, precision, folder)
            run(give)
            assert not give.changed(), (form, precision)


@pytest.mark.parametrize("form", ARRAYS[:5])
@pytest.mark.parametrize("precision", PRECISIONS[:3])
def test_noise_leaves_labels_and_features(form, precision, tmp_path):
    for name, run in noise_models(tmp_path):
        give = Giving(form, precision, tmp_path)
        run(give)
        assert not give.changed(), name


def refusal(call: Callable[..., Any], *inputs: Any) -> str:
    """What the error says."""
    with pytest.raises(ValueError, match=r"expected|NaN|finite") as raised:
        call(*inputs)
    return str(raised.value)


def takers() -> dict[str, Callable[[Any, Any], Any]]:
    """What takes tensors of embeddings and labels."""
    every: dict[str, Callable[[Any, Any], Any]] = {}
    for name in filter(is_trained, discovery.names("dml.losses")):
        every[f"loss {name}"] = dml.losses.build_for(name, {}, num_classes=CLASSES, embedding_size=WIDTH)
    for name in discovery.names("dml.filters"):
        settings = discovery.accepted(discovery.find("dml.filters", name), {"rate": 0.3})
        every[f"filter {name}"] = built_filter(name, settings)
    every["miner"] = dml.miners.build(positives="all", negatives="hard")
    every["foreign miner"] = dml.miners.ForeignMiner(every["miner"])
    every["wrong pairs"] = WrongPairs("positives", 0.5)
    every["pair distances"] = lambda x, y: PairDistances().update(x, y, Pairs(*map(torch.from_numpy, (SAME, ~SAME))))
    return every


ROW = torch.ones(WIDTH)
NOT_EMBEDDINGS = {
    "complex": lambda x: x.to(torch.complex64),
    "sparse": lambda x: x.to_sparse(),
    "nested": lambda x: torch.nested.nested_tensor([ROW] * ROWS),
    "float8": lambda x: x.to(torch.float8_e4m3fn),
    "integers": lambda x: x.long(),
    "bool": lambda x: x > 0,
    "three dimensions": lambda x: x[None],
    "one vector": lambda x: x[0],
    "an array": lambda x: x.numpy(),
    "a list": lambda x: x.tolist(),
    "none": lambda x: None,
    "text": lambda x: "embeddings",
}
NOT_LABELS = {
    "complex": lambda y: y.to(torch.complex64),
    "sparse": lambda y: y.to_sparse(),
    "fractions": lambda y: y + 0.5,
    "a column": lambda y: y[:, None],
    "too few": lambda y: y[1:],
    "an array": lambda y: y.numpy(),
    "a list": lambda y: y.tolist(),
    "none": lambda y: None,
}


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors", "ignore:Sparse")
@pytest.mark.parametrize("name", takers())
def test_tensors_that_are_none_of_embeddings_or_labels_are_named(name):
    call, x, y = takers()[name], torch.from_numpy(X).float(), torch.from_numpy(Y)
    for kind, change in NOT_EMBEDDINGS.items():
        assert "embeddings: expected" in refusal(call, change(x), y), kind
    for kind, change in NOT_LABELS.items():
        assert "labels: expected" in refusal(call, x, change(y)), kind


def features_of(name: str) -> Callable[[Any, Any], Any]:
    """What takes arrays of features and labels, and gives numbers."""
    if name in closed_form.KINDS:
        return lambda x, y: closed_form.fit(name, x, y, 3, 0.5 if name in closed_form.NORMALIZED else None).weight
    return {
        "evaluate": lambda x, y: list(evaluation.evaluate(x, y, ["recall@1", "nmi", "pair_auc"]).values()),
        "audit": lambda x, y: dml.audit.guess(x, y).guess,
        "similarity noise": lambda x, y: noise.Similarity(0.3).corrupt(y, 0, features=x).observed,
        "cluster noise": lambda x, y: noise.SmallCluster(0.3).corrupt(y, 0, features=x).observed,
    }[name]


OF_FEATURES = ("evaluate", *closed_form.KINDS, "audit", "similarity noise", "cluster noise")
NOT_FEATURES = {
    "complex": lambda x: x.astype(complex),
    "complex tensor": lambda x: torch.from_numpy(x).to(torch.complex64),
    "sparse tensor": lambda x: torch.from_numpy(x).to_sparse(),
    "sparse matrix": scipy.sparse.csr_matrix,
    "masked": lambda x: np.ma.masked_greater(x, 1),
    "objects": lambda x: x.astype(object),
    "texts": lambda x: x.astype(str),
    "dates": lambda x: x.astype("datetime64[s]"),
    "ragged": lambda x: [[1.0, 2.0], [3.0]],
    "three dimensions": lambda x: x[None],
    "one vector": lambda x: x[0],
    "not finite": lambda x: np.where(x > 1, np.nan, x),
}
SAME_FEATURES = {
    "big-endian": lambda x: x.astype(">f8"),
    "big-endian float32": lambda x: x.astype(">f4"),
    "long double": lambda x: x.astype(np.longdouble),
    "a tensor with a gradient": lambda x: torch.from_numpy(x).requires_grad_(),
    "unmasked": lambda x: np.ma.array(x),
    "a table": pd.DataFrame,
}
NOT_WHOLE = {
    "fractions": lambda y: y + 0.5,
    "complex": lambda y: y.astype(complex),
    "sparse tensor": lambda y: torch.from_numpy(y).to_sparse(),
    "a tensor with a gradient": lambda y: torch.from_numpy(y).float().requires_grad_(),
    "masked": lambda y: np.ma.masked_equal(y, 1),
    "ragged": lambda y: [[1], [2, 3]],
    "a column": lambda y: y[:, None],
    "none": lambda y: None,
}
SAME_LABELS = {
    "big-endian": lambda y: y.astype(">i8"),
    "small": lambda y: y.astype(np.uint8),
    "unsigned": lambda y: y.astype(np.uint64),
    "a tensor": torch.from_numpy,
    "a list": lambda y: y.tolist(),
    "a series": pd.Series,
}


@pytest.mark.parametrize("name", OF_FEATURES)
def test_arrays_that_are_none_of_features_or_labels_are_named(name):
    call = features_of(name)
    for kind, change in NOT_FEATURES.items():
        said = refusal(call, change(X), Y)
        assert any(word in said for word in ("embeddings", "features", "vectors")), kind
    for kind, change in NOT_WHOLE.items():
        assert "labels" in refusal(call, X, change(Y)), kind


@pytest.mark.parametrize("name", OF_FEATURES)
def test_arrays_of_any_kind_give_the_same(name):
    call, x = features_of(name), X.astype(np.float32).astype(np.float64)
    expected = np.asarray(call(x, Y))
    for kind, change in SAME_FEATURES.items():
        np.testing.assert_allclose(np.asarray(call(change(x), Y)), expected, rtol=1e-4, atol=1e-6, err_msg=kind)
    for kind, change in SAME_LABELS.items():
        np.testing.assert_array_equal(np.asarray(call(x, change(Y))), expected, err_msg=kind)


def test_autocast_changes_no_score_and_no_projection():
    x = X.astype(np.float32)
    calls = [
        *(
            lambda b=backend: list(
                evaluation.evaluate(x, Y, ["recall@1", "map@r", "nmi", "pair_auc"], backend=b).values()
            )
            for backend in BACKENDS
        ),
        lambda: closed_form.apply(closed_form.fit("whitening", x, Y, 3, 0.5), x),
    ]
    for call in calls:
        expected = call()
        with torch.autocast("cpu", torch.bfloat16):
            np.testing.assert_array_equal(call(), expected)
