"""Time and memory of a whole audit, and how both grow.

    python benchmarks/bench_audit.py --pairs 600000 --declarations 250000 --queries 3500
    python benchmarks/bench_audit.py --growth        # 1/8, 1/4, 1/2 and the whole of that size

The library, the queries and the benchmark are made up here by seed: word frequencies follow Zipf's law, statement
shapes are drawn from templates. Each size runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np
import pandas as pd

from lean_finder.audit.inputs import AuditInputs, TrainingSet
from lean_finder.audit.run import run_audit
from lean_finder.records import BenchmarkQuery, Declaration, columns

_SYMBOLS = ["≤", "<", "=", "∣", "⊆", "∈", "≃", "↔"]
_OPERATIONS = ["+", "*", "⊔", "⊓", "∪", "∩", "-", "∘"]


def make_inputs(pairs: int, declarations: int, queries: int, seed: int = 0) -> AuditInputs:
    """A made-up library with one pair set and one benchmark, clean but for chance."""
    rng = np.random.default_rng(seed)
    words = np.array([f"{a}{b}" for a in _syllables(rng, 200) for b in _syllables(rng, 150)])
    rank = np.arange(1, len(words) + 1)
    chance = 1 / rank / (1 / rank).sum()

    def texts(count: int, low: int, high: int) -> list[str]:
        lengths = rng.integers(low, high, count)
        flat = words[rng.choice(len(words), int(lengths.sum()), p=chance)]
        ends = np.cumsum(lengths)
        plain = [" ".join(flat[end - size : end]) for end, size in zip(ends, lengths, strict=True)]
        # Every other text carries some mathematics, half of it in LaTeX.
        formulas = ("", " `a ≤ b ↔ f a ⊔ c = b`", "", " $x \\le y \\iff x \\in \\mathcal{S}$")
        return [text + formulas[place % 4] for place, text in enumerate(plain)]

    names = [f"Area{place % 97}.concept{place % 1013}.fact_{place}" for place in range(declarations)]
    library = pd.DataFrame(dict.fromkeys(columns(Declaration), ""), index=range(declarations))
    library["name"], library["kind"] = names, "theorem"
    library["signature"] = [_statement(rng, words) for _ in range(declarations)]
    library["docstring"] = texts(declarations, 8, 25)
    test = max(1, min(declarations // 10, queries // 5))
    manifest = pd.DataFrame({"declaration": names, "family": names, "split": "train", "reason": "rest"})
    manifest.loc[: test - 1, "split"] = "test"
    joins = pd.DataFrame({"left": [], "right": [], "reason": []}, dtype=object)
    benchmark = pd.DataFrame(dict.fromkeys(columns(BenchmarkQuery), ""), index=range(queries))
    benchmark["query_id"] = [f"B{place}/natural" for place in range(queries)]
    benchmark["query"], benchmark["gold"] = texts(queries, 4, 16), [names[place % test] for place in range(queries)]
    frame = pd.DataFrame(
        {
            "query_id": [f"q{place}" for place in range(pairs)],
            "query": texts(pairs, 4, 24),
            "declaration": [names[place] for place in rng.integers(test, declarations, pairs)],
        }
    )
    training = TrainingSet("pairs", "generated_queries", frame, "pairs.parquet")
    return AuditInputs([training], manifest, joins, library, benchmark)


def _syllables(rng: np.random.Generator, count: int) -> list[str]:
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    return sorted({"".join(rng.choice(letters, 3)) for _ in range(count)})


def _statement(rng: np.random.Generator, words: np.ndarray) -> str:
    head = words[rng.integers(0, 2000, 3)]
    one, two = rng.integers(0, 8, 2)
    return (
        f"[{head[0].capitalize()} α] (a b c : α) (h : {head[1]} a) (hb : b {_SYMBOLS[one]} c) : "
        f"{head[2]} (a {_OPERATIONS[two]} b) {_SYMBOLS[two]} {head[2]} (a {_OPERATIONS[one]} c)"
    )


def measure(pairs: int, declarations: int, queries: int) -> dict[str, float]:
    """Seconds, CPU seconds and peak memory (MiB) of one audit, without making its input.

    CPU and memory are the main process's: the two workers that fold many texts belong to a fork server.
    """
    inputs = make_inputs(pairs, declarations, queries)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    start, cpu = time.perf_counter(), time.process_time()
    report = run_audit(inputs)
    return {
        "pairs": pairs,
        "declarations": declarations,
        "queries": queries,
        "seconds": round(time.perf_counter() - start, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "input_mib": round(before),
        "findings": len(report.findings),
    }


def main() -> None:
    """Measure one size, or four for the growth."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=600_000)
    parser.add_argument("--declarations", type=int, default=250_000)
    parser.add_argument("--queries", type=int, default=3_500)
    parser.add_argument("--growth", action="store_true")
    chosen = parser.parse_args()
    if not chosen.growth:
        print(json.dumps(measure(chosen.pairs, chosen.declarations, chosen.queries)))
        return
    for share in (8, 4, 2, 1):
        size = [str(getattr(chosen, name) // share) for name in ("pairs", "declarations", "queries")]
        command = [sys.executable, __file__, "--pairs", size[0], "--declarations", size[1], "--queries", size[2]]
        print(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip(), flush=True)


if __name__ == "__main__":
    main()
