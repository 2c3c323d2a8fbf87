"""Measures what a trial's workers send each other in a step, beside a model of it, and the processor time of a step.

    python benchmarks/workers.py [--workers 1,2,4] [--out docs/benchmarks/workers.md]

Each worker embeds N / W images of a batch of N. The model counts the bytes of float32 numbers that all W workers
together receive in a step:

- the gathered embeddings (N x D): `(W - 1) 4 N D`. Their gradient is not sent: each worker computes the whole loss, so
  it has the gradient of its own rows;
- the gradient of the network and of the loss's own parameters (P in all), averaged by a ring: `2 (W - 1) 4 P`;
- the network's buffers, such as statistics of batch norms (B bytes), which are the first worker's: `(W - 1) B`;
- the filter's decision for each image: `(W - 1) N`.

Measured are the bytes that the kernel counts for each TCP connection of each worker (`TCP_INFO`), with gloo. The
processor time is that of the last worker for a step, without evaluation. Trials are of the study `collapse-digits`
with a batch of 128 and `proxy_nca`.
"""

from __future__ import annotations

import argparse
import os
import pickle
import socket
import struct
import sys
import tempfile
import time
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "pipelines"), str(ROOT / "benchmarks")]

from dml.training.loop import Training  # noqa: E402
from dml.types import BatchSpec, FilterSpec, TrialSpec  # noqa: E402

STEPS = 40  # before the measurement, and in it
RECEIVED = 128  # offset of tcpi_bytes_received, an unsigned 64-bit number, in struct tcp_info (linux/tcp.h)
LINKS = {"10 Gbit/s": 1.25e9, "100 Gbit/s": 12.5e9, "NVLink, 450 GB/s": 450e9}  # bytes a second, each way


def received() -> int:
    """Bytes that this process has received over its open TCP connections."""
    total = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            with socket.socket(fileno=os.dup(int(name))) as connection:
                info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        except OSError:
            continue  # not a TCP socket
        total += struct.unpack_from("Q", info, RECEIVED)[0]
    return total


def rank_of(rank: int, spec: TrialSpec, root: Path, folder: Path, size: int) -> None:
    """One worker: train, and write down bytes and processor seconds of a step."""
    torch.set_num_threads(1)
    if size > 1:
        dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=size)
    training = Training(spec, root, folder)
    training.advance()
    bytes_before, used = received(), time.process_time()
    training.advance()
    spent = time.process_time() - used
    if rank == 0:  # has evaluated at the end
        used = time.process_time()
        training.evaluate()
        spent -= time.process_time() - used
    parameters = [*training.model.parameters(), *training.loss.parameters()]
    measured = {
        "bytes": (received() - bytes_before) / STEPS,
        "processor": spent / STEPS,
        "parameters": sum(p.numel() for p in parameters if p.requires_grad),
        "buffers": sum(b.numel() * b.element_size() for b in training.model.buffers()),
    }
    (folder / f"rank-{rank}").write_bytes(pickle.dumps(measured))
    training.close()
    if size > 1:
        dist.barrier()
        dist.destroy_process_group()


def measure(spec: TrialSpec, root: Path, folder: Path, size: int) -> dict[str, Any]:
    """Bytes that all workers receive in a step, measured and by the model, and seconds of a step."""
    folder.mkdir(parents=True)
    get_context("forkserver").set_forkserver_preload([__name__, "torch._dynamo"])
    mp.start_processes(rank_of, (spec, root, folder, size), nprocs=size, start_method="forkserver")
    ranks = [pickle.loads((folder / f"rank-{rank}").read_bytes()) for rank in range(size)]
    last = ranks[-1]
    images, length = spec.training.batch.size, spec.training.embedding_size
    model = 4 * images * length + 2 * 4 * last["parameters"] + last["buffers"] + (images if spec.filter else 0)
    return {**last, "bytes": sum(one["bytes"] for one in ranks), "model": (size - 1) * model}


def specs_of(root: Path, study: Any) -> list[tuple[str, TrialSpec]]:
    """Names and specs of what is measured."""
    from dml.sweep.plan import specs
    from dml.training.data import describe

    cell = study.cells()[0]
    digests = describe(root, cell.dataset, cell.noise, cell.rate, 0, "confirm")
    plain = specs.build(study, cell, "confirm", 0, {}, digests)
    evaluation = replace(plain.evaluation, every=STEPS, at_start=False, metrics=("recall@1",))
    training = replace(plain.training, steps=2 * STEPS, batch=BatchSpec(classes=2, per_class=64), embedding_size=64)
    plain = replace(plain, evaluation=evaluation, training=training)
    wide = {"width": 64}
    prism = FilterSpec("prism", {"rate": 0.2, "memory": 500})
    return [
        ("a small network", replace(plain, training=replace(training, backbone_settings={"width": 8}))),
        ("a wider one", replace(plain, training=replace(training, backbone_settings=wide))),
        (
            "a wider one, long embeddings",
            replace(plain, training=replace(training, backbone_settings=wide, embedding_size=512)),
        ),
        (
            "a small network, PRISM",
            replace(plain, filter=prism, training=replace(training, backbone_settings={"width": 8})),
        ),
    ]


def beyond() -> list[str]:
    """What a step of larger networks sends, by the model, and what that takes on three kinds of links."""
    lines = [
        "| network | N | D | W | bytes to each worker | " + " | ".join(LINKS) + " |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, parameters in (("ResNet-50", 25.6e6), ("ViT-B/16", 86e6)):
        for images, length in ((128, 128), (512, 512), (4096, 512)):
            for workers in (4, 32):
                size = (workers - 1) / workers * 4 * (images * length + 2 * parameters)
                times = " | ".join(f"{1000 * size / speed:.3g} ms" for speed in LINKS.values())
                lines.append(f"| {name} | {images} | {length} | {workers} | {size / 1e6:.0f} MB | {times} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", default="1,2,4")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    import sweep

    out = arguments.out.resolve() if arguments.out else None
    lines = [
        "| trial | W | bytes in a step, measured | by the model | measured / model "
        "| processor time of a worker's step | beside one worker alone |",
        "|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        study = sweep.collapse(
            noise=[{"model": "uniform", "rates": [0.2]}], losses=["proxy_nca"], positives=[], negatives=[]
        )
        root = sweep.prepare(study).resolve()
        for index, (name, spec) in enumerate(specs_of(root, study)):
            alone = None
            for size in map(int, arguments.workers.split(",")):
                sized = replace(spec, training=replace(spec.training, workers=size))
                measured = measure(sized, root, Path(folder) / f"{index}-{size}", size)
                alone = alone or measured["processor"]
                ratio = f"{measured['bytes'] / measured['model']:.4f}" if size > 1 else ""
                trial, seconds = f"{name} ({measured['parameters']:,} parameters)", measured["processor"]
                lines.append(
                    f"| {trial} | {size} | {measured['bytes']:,.0f} | {measured['model']:,.0f} | {ratio} "
                    f"| {1000 * seconds:.2f} ms | {seconds / alone:.2f} |"
                )
                print(lines[-1], flush=True)
        os.chdir(ROOT)
    text = "\n".join([*lines, "", "By the model, calculated:", "", *beyond()])
    print(text)
    if out:
        command = f"`python benchmarks/workers.py {' '.join(sys.argv[1:])}`"
        out.write_text(f"# What workers of a trial send each other\n\n{__doc__}\n{command}\n\n{text}\n")


if __name__ == "__main__":
    main()
