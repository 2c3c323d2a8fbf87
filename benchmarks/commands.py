"""Seconds of the processor, of a command and all that it starts, in a small project that this makes in a folder.

    python benchmarks/commands.py FOLDER            prints a table
    PYTHONPATH=OTHER python benchmarks/commands.py FOLDER   the same of another checkout

Commands run one after the other, each once: user and system time with OMP_NUM_THREADS=1, which other programs change
little. A first `run` of a study of 1,000 vectors comes before the one with nothing to do.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

COMMANDS = [
    ("`dml --help`", "--help", 0),
    ("`dml status`", "status", 0),
    ("`dml check`, an unknown key", "check wrong", 1),
    ("`dml check`, an unknown loss", "check unknown", 1),
    ("`dml check quickstart`", "check quickstart", 0),
    ("the same again", "check quickstart", 0),
    ("`dml new`, 1,000 vectors", "new texts x.npy --labels t.csv", 0),
    ("", "run mini", 0),
    ("`dml run`, nothing to do", "run mini", 0),
    ("`dml recommend`", "recommend mini", 0),
    ("the same again", "recommend mini", 0),
    ("`dml audit`, 1,000 vectors", "audit mini", 0),
]
STUDY = """\
title: mini
datasets: [{name: features, settings: {vectors: x.npy, table: t.csv, columns: {fine: label}}}]
losses: [whitening, components]
training: {backbone: identity, frozen: true, embedding_size: 96, batch: {classes: 5, per_class: 4}}
search: {sampler: fixed}
seeds: [0, 1]
"""
WRONG = {"wrong": "title: x\ndatasets: [digits]\nlosses: [triplet]\ntrainin: {steps: 3}\n"}
WRONG["unknown"] = "title: x\ndatasets: [digits]\nlosses: [tripplet]\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="for the project: empty, or of an earlier call")
    folder = parser.parse_args().folder
    prepare(folder)
    print("| command | seconds |\n|---|--:|")
    for name, command, code in COMMANDS:
        seconds, ended = timed(folder, command.split())
        if name:
            print(f"| {name} | {seconds:.1f}{'' if ended == code else ' (refused)'} |", flush=True)


def prepare(folder: Path) -> None:
    """A project with a table of vectors, a tenth of whose labels are wrong, and three studies."""
    timed(Path.cwd(), ["init", str(folder)])
    random = np.random.default_rng(0)
    topics = np.repeat(np.arange(20), 50)
    vectors = 0.6 * random.normal(size=(20, 96))[topics] + random.normal(size=(1000, 96))
    given = np.where(random.random(1000) < 0.1, random.integers(0, 20, 1000), topics)
    np.save(folder / "x.npy", vectors.astype(np.float32))
    pd.DataFrame({"label": [f"topic {label}" for label in given]}).to_csv(folder / "t.csv", index=False)
    for name, text in {"mini": STUDY, **WRONG}.items():
        (folder / "pipelines/studies" / f"{name}.yaml").write_text(text)


def timed(folder: Path, words: list[str]) -> tuple[float, int]:
    """Seconds of the processor, and the exit code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-m", "dml", *words], cwd=folder, env=environment, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, done.returncode


if __name__ == "__main__":
    main()
