"""Speed and memory of extraction and families on growing parts of a Lean library.

Run: python benchmarks/bench_extract.py PATH [--roots Mathlib] [--workers 2]
Prints, for each number of files, seconds and declarations a second of a cold and of a cached extraction, the time after
one changed file, families, and the largest resident memory of the process and of its workers.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lean_finder.corpus.extract import extract_library, lean_files
from lean_finder.corpus.families import find_families


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    """Result and wall seconds of a call."""
    start = time.perf_counter()
    result = action()
    return result, time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--roots", default="")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--sizes", default="500,1000,2000,4000,0", help="numbers of files; 0 is all")
    options = parser.parse_args()
    roots = tuple(part for part in options.roots.split(",") if part)
    files = lean_files(options.path, roots)
    heads = ("files", "decls", "cold s", "decl/s", "cached s", "changed s", "families s", "GB")
    print(" ".join(f"{head:>10}" for head in heads))
    for size in (int(part) for part in options.sizes.split(",")):
        # Every n-th file, so that each size has the same mixture of folders.
        chosen = files if not size or size >= len(files) else files[:: len(files) // size][:size]
        with tempfile.TemporaryDirectory() as scratch:
            root, cache = Path(scratch) / "lib", Path(scratch) / "cache"
            for file in chosen:
                target = root / file.relative_to(options.path)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target)

            def extract(root: Path = root, cache: Path = cache) -> Any:
                return extract_library(root, workers=options.workers, cache=cache)

            result, cold = timed(extract)
            _, cached = timed(extract)
            changed = root / chosen[0].relative_to(options.path)
            changed.write_text(
                changed.read_text(encoding="utf-8") + "\ntheorem bench_added : True := trivial\n", "utf-8"
            )
            _, after = timed(extract)
            _, families = timed(lambda found=result.declarations: find_families(found))
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        workers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        count = len(result.declarations)
        cells = (f"{len(chosen)}", f"{count}", f"{cold:.1f}", f"{count / cold:.0f}", f"{cached:.1f}", f"{after:.1f}")
        cells += (f"{families:.1f}", f"{(own + workers) / 1e6:.2f}")
        print(" ".join(f"{cell:>10}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
