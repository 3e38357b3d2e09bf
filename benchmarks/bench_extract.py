"""Speed and memory of extraction and families on growing parts of a Lean library, beside a plain search for keywords.

Run: LEAN_FINDER_MATHLIB=/path/to/mathlib4 python benchmarks/bench_extract.py [PATH] [--roots Mathlib] [--workers 2]

Every figure but the peer's is of a whole command, its start included, in wall seconds:
  both      one process that extracts (no cache) and finds all families
  full      `lean-finder corpus build` with an empty cache, which it fills
  decl/s    declarations a second of it
  changed   `lean-finder corpus build` with that cache after a theorem was added to one file
  again     the same with nothing changed
  grep      the peer: one regular expression for declaration keywords at the start of a line over the same files in one
            process, which counts declarations and knows nothing else of them (a lower bound of what reading costs)
  cpu       processor seconds of `both`, its workers included: what other work on the machine cannot stretch much
  GB        largest memory of a command, its workers included, shared pages counted once (Linux)
The last column, growth, is full seconds a file relative to the first row: 1 is linear.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq

from lean_finder.corpus.extract import lean_files

_BOTH = """
import sys
from pathlib import Path
from lean_finder.corpus.extract import extract_library
from lean_finder.corpus.families import find_families
workers = int(sys.argv[2])
find_families(extract_library(Path(sys.argv[1]), workers=workers).declarations, workers)
"""
_COMMAND = [sys.executable, "-c", "from lean_finder.cli import main; main()", "corpus"]
_KEYWORDS = re.compile(
    r"^(?:@\[[^\]\n]*\]\s*)?(?:(?:private|protected|noncomputable|public|nonrec|scoped|local|unsafe|partial|meta)\s+)*"
    r"(?:theorem|lemma|def|abbrev|instance|structure|class|inductive|axiom|opaque|alias|irreducible_def)\b",
    re.MULTILINE,
)
_PAUSE = 0.1


def measured(arguments: Sequence[str]) -> tuple[float, float, float]:
    """Wall seconds, processor seconds and largest memory in GB of a command."""
    start, before = time.perf_counter(), _spent()
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        peak = max(peak, memory(process.pid))
        time.sleep(_PAUSE)
    seconds = time.perf_counter() - start
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments[3:])}: status {process.returncode}")
    return seconds, _spent() - before, peak / 1e6


def _spent() -> float:
    """Processor seconds of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def memory(pid: int) -> int:
    """Proportional memory of a process and its children in kB; 0 if it has ended or the system does not tell."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return 0
    own = re.search(r"^Pss:\s+(\d+)", rollup, re.MULTILINE)
    return (int(own.group(1)) if own else 0) + sum(memory(int(child)) for child in children)


def grep(files: Sequence[Path]) -> tuple[float, int]:
    """Seconds and matches of the peer."""
    start = time.perf_counter()
    found = sum(len(_KEYWORDS.findall(file.read_text(encoding="utf-8"))) for file in files)
    return time.perf_counter() - start, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", default=os.environ.get("LEAN_FINDER_MATHLIB", ""))
    parser.add_argument("--roots", default="Mathlib")
    parser.add_argument("--workers", default="0")
    parser.add_argument("--sizes", default="500,1000,2000,4000,7500", help="numbers of files")
    options = parser.parse_args()
    if not options.path:
        parser.error("give PATH or set LEAN_FINDER_MATHLIB")
    source = Path(options.path)
    files = lean_files(source, [part for part in options.roots.split(",") if part])
    heads = ("files", "decls", "both", "cpu", "full", "decl/s", "changed", "again", "grep", "matches", "GB", "growth")
    print(" ".join(f"{head:>9}" for head in heads))
    first = 0.0
    for size in (int(part) for part in options.sizes.split(",")):
        # Every n-th file, so that each size has the same mixture of folders.
        chosen = [files[at * len(files) // size] for at in range(min(size, len(files)))] if size < len(files) else files
        with tempfile.TemporaryDirectory() as scratch:
            root, out = Path(scratch) / "library", Path(scratch) / "out.parquet"
            copies = [root / file.relative_to(source) for file in chosen]
            for file, copy in zip(chosen, copies, strict=True):
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)
            peer, matches = grep(copies)
            both, spent, memory_both = measured([sys.executable, "-c", _BOTH, str(root), options.workers])
            build = [
                *_COMMAND,
                "build",
                str(root),
                "--out",
                str(out),
                "--cache",
                f"{scratch}/cache",
                "--workers",
                options.workers,
            ]
            full, _, memory_full = measured(build)
            table = pq.read_table(out, columns=["name"])
            with copies[len(copies) // 2].open("a", encoding="utf-8") as stream:
                stream.write("\ntheorem bench_added : True := trivial\n")
            changed, *_ = measured(build)
            again, *_ = measured(build)
        first = first or full / len(chosen)
        cells = [
            f"{len(chosen)}",
            f"{table.num_rows}",
            f"{both:.1f}",
            f"{spent:.1f}",
            f"{full:.1f}",
            f"{table.num_rows / full:.0f}",
        ]
        cells += [f"{changed:.1f}", f"{again:.1f}", f"{peer:.1f}", f"{matches}"]
        cells += [f"{max(memory_full, memory_both):.2f}", f"{full / len(chosen) / first:.2f}"]
        print(" ".join(f"{cell:>9}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
