"""Encoding a corpus with our encoder, against a plain `SentenceTransformer.encode` call on the same texts.

Run: python benchmarks/bench_encode.py --model artifacts/base/retriever [--library data/library --threads 2]

Each system runs in a process of its own, in turns, best of `--repeats`: the peer as anyone would start it, ours as a
stage starts it (`lean_finder.runtime`). Loading is not timed. The largest difference between the vectors is printed
beside the ratio. On a machine that does other work too, the ratio of processor seconds is the one to trust.
"""

# ruff: noqa: PLC0415 - a worker imports after `runtime.start`, which executes the process anew
from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from lean_finder import runtime
from lean_finder.corpus.extract import extract_library
from lean_finder.corpus.render import render


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--library", type=Path, default=Path("data/library"))
    parser.add_argument("--renderer", default="plain-v1")
    parser.add_argument("--documents", type=int, default=1500)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--worker", choices=("peer", "ours"), help=argparse.SUPPRESS)
    parser.add_argument("--texts", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        _work(options)
        return
    declarations = extract_library(options.library).declarations[: options.documents]
    texts = [render(declaration, options.renderer) for declaration in declarations]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.json"
        path.write_text(json.dumps(texts), encoding="utf-8")
        seconds = {"peer": float("inf"), "ours": float("inf")}
        processor = dict(seconds)
        vectors = {}
        for _ in range(options.repeats):
            for worker in seconds:
                out = Path(folder) / f"{worker}.npz"
                command = [sys.executable, __file__, "--model", str(options.model), "--threads", str(options.threads)]
                command += ["--worker", worker, "--texts", str(path), "--out", str(out)]
                subprocess.run(command, check=True)
                result = np.load(out)
                vectors[worker] = result["vectors"]
                seconds[worker] = min(seconds[worker], float(result["seconds"]))
                processor[worker] = min(processor[worker], float(result["processor"]))
    figures = {
        "documents": len(texts),
        "peer_documents_per_second": round(len(texts) / seconds["peer"], 1),
        "our_documents_per_second": round(len(texts) / seconds["ours"], 1),
        "ratio": round(seconds["peer"] / seconds["ours"], 2),
        "processor_ratio": round(processor["peer"] / processor["ours"], 2),
        "largest_difference": float(np.abs(vectors["peer"] - vectors["ours"]).max()),
    }
    print(json.dumps(figures))


def _work(options: argparse.Namespace) -> None:
    """Encode once to warm up and once timed."""
    if options.worker == "ours":
        runtime.start(options.threads)
    # After `start`, which executes this process anew.
    import torch
    from sentence_transformers import SentenceTransformer

    from lean_finder.retrieval.encoder import Encoder

    torch.set_num_threads(options.threads)
    texts = json.loads(options.texts.read_text(encoding="utf-8"))
    if options.worker == "ours":
        encoder = Encoder.load(options.model, device="cpu")
        encode = encoder.encode_documents
    else:
        peer = SentenceTransformer(str(options.model), device="cpu")
        peer.max_seq_length = Encoder.load(options.model, device="cpu").contract.max_document_tokens
        encode = peer.encode
    encode(texts[:64])
    started, used = time.perf_counter(), time.process_time()
    vectors = encode(texts)
    seconds, processor = time.perf_counter() - started, time.process_time() - used
    np.savez(options.out, vectors=vectors, seconds=seconds, processor=processor)


if __name__ == "__main__":
    main()
