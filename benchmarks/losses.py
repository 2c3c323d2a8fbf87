"""Every loss and every policy beside pytorch-metric-learning, forward and backward, in one run.

    python benchmarks/losses.py --out docs/benchmarks/losses.md          # all sizes; minutes
    python benchmarks/losses.py --quick                                  # N = 512 only, fewer repetitions
    python benchmarks/losses.py --against ../before                      # this checkout beside another one

A row is one training step's loss: mining where there is a miner, the loss, the backward pass to the embeddings (N,
128), with 4 samples a class; proxies are of N / 4 classes unless the row says. A memory has 8,192 samples, and a step
with one moves the embeddings a little. Both sides run in this process by turns, and the medians are compared; CUDA is
timed by events. Peak memory is what one step adds: on the CPU in a process of its own (peak resident size, reset
before), on CUDA the allocator's peak. Pairs of policies other than the goal's are measured at N = 512 only.
`floor` is the time of: normalise, Gram matrix, backward. The peer is left out where one step takes more than 30 s or
more than the memory there is, and the table says so; "no peer" is written where it does not define the same. Its
proxy_nca is another definition (the positive proxy in the denominator), and so is its contrastive (d for d^2 / 2).
`--one-thread` takes CPU times of one thread, which other processes disturb least, and no memory.
While times are taken, the process keeps freed memory as our trials do (`dml/training/process.py`), for both sides.

`--against` imports `dml` from another checkout into the same process, and runs both by turns, without the peer. `ratio`
is the median over the rounds of the time here divided by the time there. Times are CPU time of one thread, which other
processes disturb least.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import math
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from types import ModuleType

import torch

import dml.losses
import dml.miners
from dml import discovery
from dml.training.process import keep_freed_memory

DIMENSIONS, PER_CLASS = 128, 4
SIZES = (128, 256, 512, 1024, 2048, 4096)
PATIENCE = 30  # seconds that one step of the peer may take
Step = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

# Label of a row -> the loss, its settings, the policies, and whether it is one of the goal's seven combinations.
GOAL = {
    "all triplets": ("triplet", {}, None),
    "margin, all + distance_weighted": ("margin", {"beta_per": "none"}, ("all", "distance_weighted")),
    "histogram": ("histogram", {}, None),
    "lifted_structure": ("lifted_structure", {}, None),
    "multi_similarity with its miner": ("multi_similarity", {}, ("multi_similarity", "multi_similarity")),
    "contrastive": ("contrastive", {}, None),
    "triplet, easy + semihard_random": ("triplet", {}, ("easy", "semihard_random")),
}
MORE = {
    "all triplets, squared": ("triplet", {"distance": "squared"}, None),
    "margin, all pairs": ("margin", {"beta_per": "none"}, None),
    "multi_similarity, all pairs": ("multi_similarity", {}, None),
    "binomial_deviance": ("binomial_deviance", {}, None),
    "quadruplet": ("quadruplet", {}, None),
    "proxy_nca": ("proxy_nca", {}, None),
    "softmax": ("softmax", {}, None),
    "info_nce": ("info_nce", {"form": "nt_xent"}, None),
    "info_nce, SupCon": ("info_nce", {}, None),
    "circle": ("circle", {}, None),
    "smooth_ap": ("smooth_ap", {}, None),
    "recall_at_k": ("recall_at_k", {}, None),
    "info_nce, SupCon, memory": ("info_nce", {"memory": {"size": 8192, "warm_up": 0}}, None),
    "contrastive, memory": ("contrastive", {"memory": {"size": 8192, "warm_up": 0}}, None),
    "arcface": ("arcface", {}, None),
    "arcface, 3 centres": ("arcface", {"centers": 3}, None),
    "proxy_anchor": ("proxy_anchor", {}, None),
    "soft_triple": ("soft_triple", {}, None),
    "generalized_softmax": ("generalized_softmax", {}, None),
    "bootstrap_softmax": ("bootstrap_softmax", {}, None),
    "proxy_nca, 10000 classes": ("proxy_nca", {}, None),
    "softmax, 10000 classes": ("softmax", {}, None),
    "arcface, 10000 classes": ("arcface", {}, None),
    "proxy_anchor, 10000 classes": ("proxy_anchor", {}, None),
    "soft_triple, 10000 classes": ("soft_triple", {}, None),
    "arcface, 100000 classes": ("arcface", {}, None),
    "arcface, a tenth of 100000 classes": ("arcface", {"sampled": 0.1}, None),
    "trimmed contrastive": ("trimmed", {"loss": "contrastive"}, None),
    "lifted_hinge": ("lifted_hinge", {}, None),
    "hphn_triplet": ("hphn_triplet", {}, None),
    "triplet, loop": ("triplet", {"synthesis": "loop"}, None),
    "lifted_hinge, loop": ("lifted_hinge", {"synthesis": "loop"}, None),
    "hphn_triplet, loop": ("hphn_triplet", {"synthesis": "loop"}, None),
    "multi_similarity, loop": ("multi_similarity", {"synthesis": "loop"}, None),
    "multi_similarity, embedding_expansion": ("multi_similarity", {"synthesis": "embedding_expansion"}, None),
}


def policies() -> dict[str, tuple]:
    """Every pair of policies, with the triplet loss."""
    pairs = product(discovery.names("dml.miners.positives"), discovery.names("dml.miners.negatives"))
    return {f"triplet, {p} + {n}": ("triplet", {}, (p, n)) for p, n in pairs if f"triplet, {p} + {n}" not in GOAL}


def ours(label: str, n: int, device: str) -> Step:
    """One step of ours: embeddings and labels to a scalar."""
    return _step(label, n, device, dml.losses, dml.miners)


def _step(label: str, n: int, device: str, losses: ModuleType, miners: ModuleType) -> Step:
    name, settings, mined = {**GOAL, **MORE, **policies()}[label]
    loss = losses.build_for(name, settings, num_classes=classes_of(label, n), embedding_size=DIMENSIONS).to(device)
    if mined is None:
        return filled(loss, n, device, settings.get("memory", {}).get("size", 0))
    mine = miners.build(positives=mined[0], negatives=mined[1], padded=True, max_per_class=PER_CLASS)
    return lambda x, y: loss(x, y, mine(x, y))


class Checkout:
    """The package `dml` of another checkout, imported beside this one's."""

    def __init__(self, path: Path):
        self._modules: dict[str, ModuleType] = {}
        sys.path.insert(0, str(path.resolve()))
        try:
            with self._in_place():
                self._losses, self._miners, self._discovery = (
                    importlib.import_module(f"dml.{room}") for room in ("losses", "miners", "discovery")
                )
                for package in ("dml.losses", "dml.miners.positives", "dml.miners.negatives"):
                    self._discovery.names(package)  # imports all parts
        finally:
            sys.path.remove(str(path.resolve()))
        if not Path(str(self._losses.__file__)).is_relative_to(path.resolve()):
            raise ValueError(f"--against: expected a checkout with a folder dml; got {path}")

    @contextmanager
    def _in_place(self) -> Iterator[None]:
        here = _take_out()
        sys.modules.update(self._modules)
        try:
            yield
        finally:
            self._modules = _take_out()
            sys.modules.update(here)

    def step(self, label: str, n: int, device: str) -> Step:
        """One step of that checkout's."""
        with self._in_place():
            if not hasattr(self._losses, "build_for"):  # checkouts from before it
                self._losses.build_for = self._build_for
            return _step(label, n, device, self._losses, self._miners)

    def _build_for(self, name: str, settings: dict, **fill: int) -> torch.nn.Module:
        options = self._discovery.settings_of(self._discovery.find("dml.losses", name))
        return self._losses.build(name, **{k: v for k, v in fill.items() if k in options}, **settings)


def _take_out() -> dict[str, ModuleType]:
    return {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "dml"}


def compare(other: Checkout, labels: list[str], sizes: Iterable[int], seconds: float) -> Iterator[str]:
    """The rows of a table of this checkout beside another one."""
    yield "| step | N | there, ms | here, ms | ratio |"
    yield "|---|--:|--:|--:|--:|"
    torch.set_num_threads(1)
    for n in sizes:
        x, y = inputs(n, "cpu", torch.float32)
        for label in labels:
            steps = other.step(label, n, "cpu"), ours(label, n, "cpu")
            slowest = max(once(step, x, y, time.thread_time) for _ in range(2) for step in steps)
            rounds = min(400, max(7, int(seconds / 2 / slowest)))
            times = []
            for turn in range(rounds):
                order = (0, 1) if turn % 2 else (1, 0)
                taken = {k: once(steps[k], x, y, time.thread_time) for k in order}
                times.append((taken[0], taken[1]))
            there, here = (statistics.median(column) * 1e3 for column in zip(*times, strict=True))
            ratio = statistics.median(b / a for a, b in times)
            yield f"| {label} | {n} | {there:.2f} | {here:.2f} | {ratio:.2f} |"


def classes_of(label: str, n: int) -> int:
    """That the proxies of a row are of."""
    return next((int(word) for word in label.split() if word.isdecimal() and "classes" in label), n // PER_CLASS)


def filled(loss: Step, n: int, device: str, size: int) -> Step:
    """The loss, with its memory full."""
    with torch.no_grad():
        for _ in range(-(-size // n)):
            loss(*inputs(n, device, torch.float32))
    if size:
        return lambda x, y: loss(x + torch.randn_like(x) / 10, y)
    return lambda x, y: loss(x, y)


def peer(label: str, n: int, device: str) -> Step | None:
    """The same of pytorch-metric-learning's, where it defines the same (proxy_nca: its own definition)."""
    from pytorch_metric_learning import distances, losses, miners

    squared = distances.LpDistance(power=2)
    size, remembered = (classes_of(label, n), DIMENSIONS), 8192
    label = label.split(", 10")[0]
    if label == "contrastive, memory":
        loss = losses.CrossBatchMemory(losses.ContrastiveLoss(), DIMENSIONS, remembered)
        return filled(loss.to(device), n, device, remembered)
    if label == "info_nce, SupCon, memory":
        loss = losses.CrossBatchMemory(losses.SupConLoss(temperature=0.1), DIMENSIONS, remembered)
        return filled(loss.to(device), n, device, remembered)
    make_peer = {
        "all triplets": lambda: (losses.TripletMarginLoss(margin=0.2), None),
        "all triplets, squared": lambda: (losses.TripletMarginLoss(margin=0.2, distance=squared), None),
        "margin, all + distance_weighted": lambda: (
            losses.MarginLoss(margin=0.2, beta=1.2),
            miners.DistanceWeightedMiner(cutoff=0.5, nonzero_loss_cutoff=1.4),
        ),
        "histogram": lambda: (losses.HistogramLoss(n_bins=200), None),
        "lifted_structure": lambda: (losses.LiftedStructureLoss(), None),
        "multi_similarity with its miner": lambda: (
            losses.MultiSimilarityLoss(alpha=2, beta=50, base=0.5),
            miners.MultiSimilarityMiner(epsilon=0.1),
        ),
        "multi_similarity, all pairs": lambda: (losses.MultiSimilarityLoss(alpha=2, beta=50, base=0.5), None),
        "contrastive": lambda: (losses.ContrastiveLoss(), None),
        "triplet, easy + semihard_random": lambda: (
            losses.TripletMarginLoss(margin=0.2),
            miners.BatchEasyHardMiner(pos_strategy="easy", neg_strategy="semihard"),
        ),
        "triplet, hard + hard": lambda: (losses.TripletMarginLoss(margin=0.2), miners.BatchHardMiner()),
        "triplet, all + distance_weighted": lambda: (
            losses.TripletMarginLoss(margin=0.2),
            miners.DistanceWeightedMiner(cutoff=0.5, nonzero_loss_cutoff=1.4),
        ),
        "triplet, easy + hard": lambda: (
            losses.TripletMarginLoss(margin=0.2),
            miners.BatchEasyHardMiner(pos_strategy="easy", neg_strategy="hard"),
        ),
        "triplet, multi_similarity + multi_similarity": lambda: (
            losses.TripletMarginLoss(margin=0.2),
            miners.MultiSimilarityMiner(epsilon=0.1),
        ),
        "proxy_nca": lambda: (losses.ProxyNCALoss(*size), None),
        "softmax": lambda: (losses.NormalizedSoftmaxLoss(*size), None),
        "info_nce": lambda: (losses.NTXentLoss(temperature=0.1), None),
        "info_nce, SupCon": lambda: (losses.SupConLoss(temperature=0.1), None),
        "circle": lambda: (losses.CircleLoss(), None),
        "smooth_ap": lambda: (losses.SmoothAPLoss(), None),
        "arcface": lambda: (losses.ArcFaceLoss(*size), None),
        "arcface, 3 centres": lambda: (
            losses.SubCenterArcFaceLoss(num_classes=size[0], embedding_size=DIMENSIONS),
            None,
        ),
        "proxy_anchor": lambda: (losses.ProxyAnchorLoss(*size), None),
        "soft_triple": lambda: (losses.SoftTripleLoss(*size), None),
    }.get(label)
    if make_peer is None:
        return None
    loss, miner = make_peer()
    loss = loss.to(device)
    return lambda x, y: loss(x, y) if miner is None else loss(x, y, miner(x, y))


def floor(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Normalise and Gram matrix; its backward is that of a loss with some derivative everywhere."""
    z = torch.nn.functional.normalize(x)
    return (z @ z.T).sum()


def inputs(n: int, device: str, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Embeddings as in the middle of a training: loose clusters, not noise."""
    g = torch.Generator().manual_seed(0)
    y = torch.arange(n // PER_CLASS).repeat_interleave(PER_CLASS)
    centre = torch.randn(n // PER_CLASS, DIMENSIONS, generator=g)
    x = centre[y] + torch.randn(n, DIMENSIONS, generator=g)
    return x.to(device, dtype).requires_grad_(), y.to(device)


def once(step: Step, x: torch.Tensor, y: torch.Tensor, clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of one step and its backward pass, on the CPU by `clock`."""
    x.grad = None
    if x.is_cuda:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        step(x, y).backward()
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end) / 1e3
    begin = clock()
    step(x, y).backward()
    return clock() - begin


def by_turns(
    steps: dict[str, Step], x: torch.Tensor, y: torch.Tensor, seconds: float, clock: Callable[[], float]
) -> dict[str, float]:
    """The median seconds of each, after a warming run of each, all of them in every round."""
    slowest = max(once(step, x, y, clock) for step in steps.values())
    rounds = min(30, max(1 if slowest > 2 else 3, int(seconds / (len(steps) * slowest))))
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            times[name].append(once(step, x, y, clock))
    return {name: statistics.median(values) for name, values in times.items()}


def resident(peak: bool) -> float:
    """This process's resident size in MB: now, or its peak since the last reset."""
    key = "VmHWM:" if peak else "VmRSS:"
    return next(
        int(line.split()[1]) / 1024 for line in Path("/proc/self/status").read_text().splitlines() if key in line
    )


def child(side: str, n: int, labels: list[str]) -> None:
    """Print each step's extra memory as a line of JSON; dies on a step that takes too long, or too much."""
    total = next(int(l.split()[1]) for l in Path("/proc/meminfo").read_text().splitlines() if "MemAvailable" in l)
    resource.setrlimit(resource.RLIMIT_AS, (int(total * 1024 * 0.8) + (8 << 30),) * 2)
    make = {"ours": ours, "peer": peer}[side]
    x, y = inputs(n, "cpu", torch.float32)
    once(floor, x, y)
    for label in labels:
        step = make(label, n, "cpu")
        if step is not None:
            once(step, *inputs(32, "cpu", torch.float32))
            gc.collect()
            Path("/proc/self/clear_refs").write_text("5")
            before = resident(peak=False)
            signal.alarm(PATIENCE + 5)
            try:
                seconds = once(step, x, y)
            except (RuntimeError, MemoryError) as error:
                if "memory" not in str(error).lower() and not isinstance(error, MemoryError):
                    raise
                print(json.dumps({"label": label, "why": "more memory than there is"}), flush=True)
                continue
            finally:
                signal.alarm(0)
            why = f"> {PATIENCE} s" if seconds > PATIENCE else None
            print(json.dumps({"label": label, "megabytes": resident(peak=True) - before, "why": why}), flush=True)


def memory_on_cpu(side: str, n: int, labels: list[str]) -> dict[str, dict]:
    """What `child` finds, started anew after a step that it died on."""
    results: dict[str, dict] = {}
    # So that freed arrays leave the resident size at once, and the next step's are counted.
    environment = {
        **os.environ,
        "MALLOC_MMAP_THRESHOLD_": "65536",
        "MALLOC_TRIM_THRESHOLD_": "65536",
    }
    while labels:
        command = [sys.executable, __file__, "--child", side, "--sizes", str(n), "--labels", *labels]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        results |= {line["label"]: line for line in lines}
        if done.returncode == 0:
            break
        if done.returncode > 0:
            raise RuntimeError(done.stderr[-2000:])
        after = labels.index(lines[-1]["label"]) + 1 if lines else 0
        why = f"> {PATIENCE} s" if done.returncode == -signal.SIGALRM else "more memory than there is"
        # The step it died on is the first after the last that it reported and that there is.
        make = {"ours": ours, "peer": peer}[side]
        died = next(k for k in range(after, len(labels)) if make(labels[k], n, "cpu") is not None)
        results[labels[died]] = {"label": labels[died], "why": why}
        labels = labels[died + 1 :]
    return results


def memory_on_cuda(step: Step, x: torch.Tensor, y: torch.Tensor) -> float:
    """Megabytes that one step adds."""
    x.grad = None
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    once(step, x, y)
    return (torch.cuda.max_memory_allocated() - before) / 2**20


def measure(
    n: int,
    labels: list[str],
    device: str,
    dtype: torch.dtype,
    seconds: float,
    given_up: dict,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterable[dict]:
    """One record a label. `given_up`: why the peer was left out at a smaller size already."""
    alone = clock is time.thread_time  # then memory is not measured
    x, y = inputs(n, device, dtype)
    wanted = [label for label in labels if label not in given_up]
    memory = (
        {s: memory_on_cpu(s, n, w) for s, w in (("ours", labels), ("peer", wanted))}
        if device == "cpu" and not alone
        else {}
    )
    for label in labels:
        row = {"label": label, "n": n, "note": given_up.get(label, "")}
        steps = {"floor": floor, "ours": ours(label, n, device)}
        other = None if label in given_up else peer(label, n, device)
        why = memory.get("peer", {}).get(label, {}).get("why")
        if other is None:
            row["note"] = row["note"] or "no peer"
        elif why is None:
            steps["peer"] = other
        for side in [s for s in ("ours", "peer") if s in steps and not alone]:
            try:
                if device == "cuda":
                    row[f"{side} MB"] = memory_on_cuda(steps[side], x, y)
                else:
                    row[f"{side} MB"] = memory[side][label]["megabytes"]
            except RuntimeError as error:  # the peer has no bfloat16 for some losses
                if side == "ours":
                    raise
                why = "more memory than there is" if "out of memory" in str(error) else "does not run"
                del steps[side]
                torch.cuda.empty_cache()
        if why:
            row["note"] = given_up[label] = f"peer: {why}"
        row |= by_turns(steps, x, y, seconds, clock)
        if device == "cuda" and row.get("peer", 0) * 8 > PATIENCE:
            given_up[label] = f"peer: > {PATIENCE} s, from its time at N = {n} and its N^3"
        yield row


def markdown(rows: list[dict]) -> str:
    """The table."""
    lines = [
        "| step | N | ours, ms | peer, ms | ratio | x floor | ours, MB | peer, MB | |",
        "|---|" + "--:|" * 7 + "---|",
    ]
    for r in rows:
        cells = [f"{r['ours'] * 1e3:.2f}", f"{r['peer'] * 1e3:.1f}" if "peer" in r else "-"]
        cells += [f"{r['peer'] / r['ours']:.1f}" if "peer" in r else "-", f"{r['ours'] / r['floor']:.1f}"]
        cells += [f"{r['ours MB']:.0f}" if "ours MB" in r else "-", f"{r['peer MB']:.0f}" if "peer MB" in r else "-"]
        lines.append(f"| {r['label']} | {r['n']} | " + " | ".join(cells) + f" | {r['note']} |")
    return "\n".join(lines)


def summary(rows: list[dict]) -> str:
    """The goal's figures at each size where all seven have a peer."""
    lines = []
    for n in sorted({r["n"] for r in rows}):
        here = [r for r in rows if r["n"] == n and r["label"] in GOAL]
        # A peer that ran out of patience counts as having taken just that long: a lower bound of the ratio.
        least = {r["label"]: r.get("peer", PATIENCE if f"> {PATIENCE} s" in r["note"] else None) for r in here}
        ratios = {r["label"]: least[r["label"]] / r["ours"] for r in here if least[r["label"]]}
        if ratios:
            mean = math.exp(statistics.mean(map(math.log, ratios.values())))
            worst = min(ratios, key=ratios.__getitem__)
            lines.append(
                f"- N = {n}: geometric mean of {len(ratios)} of the goal's {len(GOAL)} combinations {mean:.1f} times "
                f"faster, least {ratios[worst]:.1f} ({worst})."
            )
        base = [r["floor"] for r in rows if r["n"] == n]
        lines.append(f"- N = {n}: floor {statistics.median(base) * 1e3:.2f} ms.")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=None)
    parser.add_argument("--quick", action="store_true", help="N = 512 only, the goal's combinations, fewer repetitions")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--one-thread", action="store_true", help="CPU time of one thread, and no memory")
    parser.add_argument("--labels", nargs="+", default=None, help="only these rows")
    parser.add_argument("--against", type=Path, default=None, metavar="PATH", help="another checkout to compare with")
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--child", default=None, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.child:
        child(arguments.child, arguments.sizes[0], arguments.labels)
        return
    keep_freed_memory()
    clock = time.thread_time if arguments.one_thread else time.perf_counter
    if arguments.one_thread:
        torch.set_num_threads(1)
    sizes = arguments.sizes or ((512,) if arguments.quick else SIZES)
    labels = arguments.labels or list(GOAL if arguments.quick else {**GOAL, **MORE})
    if arguments.against:
        sizes = arguments.sizes or ((512,) if arguments.quick else (128, 512, 2048))
        lines = []
        for line in compare(Checkout(arguments.against), labels, sizes, 1.0 if arguments.quick else 3.0):
            lines.append(line)
            print(line, flush=True)
        if arguments.out:
            arguments.out.write_text("\n".join([*lines, ""]))
        return
    crossed = [] if arguments.quick or arguments.labels else list(policies())
    report = ["# Losses and miners beside pytorch-metric-learning", "", __doc__ or ""]
    for dtype in (torch.float32, torch.bfloat16) if arguments.device == "cuda" else (torch.float32,):
        rows: list[dict] = []
        given_up: dict[str, str] = {}
        for n in sizes:
            at_this = labels + (crossed if n == 512 else [])
            for row in measure(n, at_this, arguments.device, dtype, 1.0 if arguments.quick else 2.0, given_up, clock):
                rows.append(row)
                print(markdown([row]).splitlines()[-1], flush=True)
        where = (
            torch.cuda.get_device_name() if arguments.device == "cuda" else f"CPU, {torch.get_num_threads()} threads"
        )
        title = f"## {where}, {str(dtype).removeprefix('torch.')}, torch {torch.__version__}"
        report += ["", title, "", summary(rows), "", markdown(rows)]
        print("\n".join(report[-3:]))
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        command = "python benchmarks/losses.py " + " ".join(sys.argv[1:])
        arguments.out.write_text("\n".join([*report, "", f"Made by `{command}`.", ""]))


if __name__ == "__main__":
    main()
