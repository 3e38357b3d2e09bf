"""The retriever of one arm, trained from the base model (section 2.1).

Reads: base retriever, the long queries of round 0 and the arm's own short queries, their hard negatives, the arm's
audit, and short queries of validation declarations if `retriever.validate_every` asks for them. Writes:
`artifacts/retriever/<arm>` with its contract and `curve.json`. An arm is not continued from its predecessor, and
earlier rounds' short queries are left out: `docs/method.md` says why.
"""

from __future__ import annotations

from collections.abc import Mapping

from lean_finder.params import Params
from lean_finder.pipeline import paths
from lean_finder.pipeline.corpus import load_corpus
from lean_finder.pipeline.negatives import usable_negatives
from lean_finder.pipeline.training_pairs import query_files, require_passed, training_pairs
from lean_finder.pipeline.validation import training_validation
from lean_finder.retrieval.settings import LoraSettings, TrainingSettings
from lean_finder.retrieval.training import train_retriever
from lean_finder.storage import atomic_path, write_json
from lean_finder.tracking import StageRun


def run(params: Params, arm: str, tracked: StageRun) -> None:
    """Train on the audited pairs."""
    require_passed(arm)
    corpus = load_corpus(params.corpus.renderer)
    for file in [*query_files(arm), paths.negatives(arm)]:
        tracked.input(file, "training")
    pairs = training_pairs(arm, corpus)
    curve: list[dict[str, float]] = []

    def log(figures: Mapping[str, float], step: int) -> None:
        tracked.metrics(figures, step)
        # Speed stays out of the file: equal runs must give equal bytes.
        curve.append({"step": step} | {key: value for key, value in figures.items() if key != "pairs_per_second"})

    with atomic_path(paths.retriever(arm)) as out:
        summary = train_retriever(
            paths.BASE_RETRIEVER,
            pairs,
            corpus.text,
            corpus.family_of,
            training_settings(params),
            out,
            log,
            training_validation(params, corpus) if params.retriever.validate_every else None,
            checkpoints=paths.checkpoints("retriever", arm),
            hard_negatives=usable_negatives(arm, pairs, corpus),
        )
        write_json(out / "curve.json", curve)
    tracked.metrics(
        {
            "pairs": len(pairs),
            "masked_share": summary.masked_share,
            "final_loss": summary.loss,
            "pairs_per_second": summary.pairs_per_second,
            "parameters": summary.parameters,
        }
    )
    tracked.output(paths.retriever(arm))


def training_settings(params: Params) -> TrainingSettings:
    """How the retrievers are trained."""
    values = params.retriever.model_dump()
    values.pop("hard_negatives")  # mined by a stage of their own; training is handed their names
    lora, matryoshka = values.pop("lora"), values.pop("matryoshka")
    if lora is not None:
        lora = LoraSettings(rank=lora["rank"], alpha=lora["alpha"], targets=tuple(lora["targets"]))
    return TrainingSettings(seed=params.seed, lora=lora, matryoshka=tuple(matryoshka), **values)
