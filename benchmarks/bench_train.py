"""Training pairs per second and memory, against a plain sentence-transformers loop on the same pairs and batch.

Run: python benchmarks/bench_train.py --model artifacts/base/retriever [--steps 20 --batch 64 --threads 2]

Peer: `MultipleNegativesRankingLoss` on the same model, random batches, AdamW: the loop of its documentation. Each
system runs in a process of its own as it would be started; peak memory is the process's. `--micro-batch-tokens`
shows what the gradient cache costs in time and saves in memory.
"""

# ruff: noqa: PLC0415 - a worker imports after `runtime.start`, which executes the process anew
from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from lean_finder import runtime
from lean_finder.corpus.extract import extract_library
from lean_finder.corpus.render import render
from lean_finder.records import Pair, to_frame


def main() -> None:
    """Print one JSON object per system."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--library", type=Path, default=Path("data/library"))
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--micro-batch-tokens", type=int, default=16384)
    parser.add_argument("--worker", choices=("peer", "ours", "cached"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(_work(options)), flush=True)
        return
    for worker in ("peer", "ours", "cached"):
        subprocess.run([sys.executable, *sys.argv, "--worker", worker], check=True)


def _work(options: argparse.Namespace) -> dict[str, object]:
    if options.worker != "peer":
        runtime.start(options.threads)
    # After `start`, which executes this process anew.
    import torch

    torch.set_num_threads(options.threads)
    declarations = [item for item in extract_library(options.library).declarations if item.docstring]
    texts = {item.name: render(item, "plain-v1", "formal") for item in declarations}
    queries = {item.name: item.docstring for item in declarations}
    seconds = _peer(options, queries, texts) if options.worker == "peer" else _ours(options, queries, texts)
    return {
        "system": options.worker,
        "pairs_per_second": round(options.steps * options.batch / seconds, 2),
        "peak_memory_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def _ours(options: argparse.Namespace, queries: dict[str, str], texts: dict[str, str]) -> float:
    from lean_finder.retrieval.settings import TrainingSettings
    from lean_finder.retrieval.training import train_retriever

    rows = [
        Pair(name, query, name, "docstring", "paraphrase", "r0", "rule:docstring", "formal")
        for name, query in queries.items()
    ]
    frame: pd.DataFrame = to_frame(Pair, rows)
    settings = TrainingSettings(
        seed=0,
        steps=options.steps,
        batch_size=options.batch,
        learning_rate=2e-5,
        temperature=0.05,
        margin=0.1,
        micro_batch_tokens=1024 if options.worker == "cached" else options.micro_batch_tokens,
    )
    with tempfile.TemporaryDirectory() as folder:
        summary = train_retriever(
            options.model,
            frame,
            lambda name, view: texts[name],
            {},
            settings,
            Path(folder) / "out",
            lambda figures, step: None,
            device="cpu",
        )
    return summary.seconds


def _peer(options: argparse.Namespace, queries: dict[str, str], texts: dict[str, str]) -> float:
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.losses import MultipleNegativesRankingLoss

    from lean_finder.retrieval.encoder import Encoder

    model = SentenceTransformer(str(options.model), device="cpu")
    model.max_seq_length = Encoder.load(options.model, device="cpu").contract.max_document_tokens
    loss = MultipleNegativesRankingLoss(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
    random = np.random.default_rng(0)
    names = list(queries)
    model.train()
    started = time.perf_counter()
    for _ in range(options.steps):
        chosen = [names[at] for at in random.choice(len(names), options.batch, replace=False)]
        features = [model.tokenize([side[name] for name in chosen]) for side in (queries, texts)]
        loss(features, labels=None).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
