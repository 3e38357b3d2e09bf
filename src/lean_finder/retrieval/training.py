"""Training a retriever: contrastive, on pairs of a query and a declaration.

One step: embed the batch's queries and documents in micro-batches, take the masked loss over all of them, push the
gradient back (through the gradient cache if the batch does not fit), step AdamW. Over several processes each embeds
its share of the micro-batches, all see all vectors, and the gradients are summed: the same mathematics as one
process at the same batch size.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from accelerate import PartialState
from torch import Tensor, nn
from tqdm import tqdm
from transformers import PreTrainedTokenizerBase

from lean_finder.errors import InputError
from lean_finder.retrieval.batching import plan_batches
from lean_finder.retrieval.checkpoints import (
    TrainingState,
    copy_trained,
    load_checkpoint,
    restore_trained,
    save_checkpoint,
)
from lean_finder.retrieval.contract import TokenizationContract
from lean_finder.retrieval.embedding import Tokens, embed, token_batches, tokenize
from lean_finder.retrieval.encoder import Encoder, pick_device
from lean_finder.retrieval.exact import exact_ranks
from lean_finder.retrieval.grad_cache import backward_cached, backward_plain
from lean_finder.retrieval.loss import LossOutput, MaskedInfoNCE
from lean_finder.retrieval.model_folder import (
    contract_of_folder,
    load_backbone,
    load_tokenizer,
    save_model_folder,
    weights_digest,
)
from lean_finder.retrieval.settings import TrainingSettings, TrainingSummary, ValidationSet

logger = logging.getLogger(__name__)

Log = Callable[[Mapping[str, float], int], None]

#: Names of layers (BERT, Qwen3 and kin) that every architecture keeps out of weight decay.
_NO_DECAY = ("bias", "norm")

#: Where activations of the whole batch fit, micro-batches of this many tokens waste the least padding on a CPU.
_CPU_FORWARD_TOKENS = 2048


@dataclass(frozen=True, slots=True)
class _TrainingData:
    """Tokenised pairs.

    `document_of[i]` and `hard_of[i]` number the rows of `documents`; `families` has one number per document.
    """

    queries: list[Tokens]
    documents: list[Tokens]
    document_of: npt.NDArray[np.int64]
    hard_of: list[list[int]]
    families: npt.NDArray[np.int64]
    declarations: npt.NDArray[np.int64]
    digest: str


def train_retriever(
    base: Path,
    pairs: pd.DataFrame,
    document_text: Callable[[str, str], str],
    family_of: Mapping[str, str],
    settings: TrainingSettings,
    out: Path,
    log: Log,
    validation: ValidationSet | None = None,
    checkpoints: Path | None = None,
    *,
    contract: TokenizationContract | None = None,
    hard_negatives: Sequence[Sequence[str]] | None = None,
    device: str = "auto",
) -> TrainingSummary:
    """Train the model of folder `base` on `pairs` and write it, with its contract, to `out`.

    Deterministic: equal input, settings, machine and thread count give equal weights. Killed and called again
    with the same `checkpoints`, it goes on from the last checkpoint to the same weights, and calls `log` for the
    earlier steps again so that a curve is whole.

    Args:
        base: model folder, see `encoder.Encoder.load`.
        pairs: columns of `records.Pair`; `query` is used as it is (already rendered).
        document_text: (declaration name, document view) → rendered document.
        family_of: declaration → family; a declaration that is absent is its own family.
        settings: see there.
        out: folder to write.
        log: called with the figures of a step and its number (1-based; step 0 is the untuned base).
        validation: measured every `settings.validate_every` steps.
        checkpoints: folder for resumable state; emptied when training has ended.
        contract: how texts become vectors, default the base folder's own.
        hard_negatives: for each row of `pairs`, names of declarations to add to the batch as candidates.
        device: auto, cpu or cuda; over several processes each takes the GPU of its number.

    Raises:
        InputError: no pairs, an empty query, an unusable folder, or a loss that is no longer a number.
    """
    processes = PartialState(cpu=pick_device(device).type == "cpu")
    contract = contract or contract_of_folder(base)
    tokenizer = load_tokenizer(base, contract)
    data = _tokenise(pairs, document_text, family_of, hard_negatives or [], tokenizer, contract)
    torch.manual_seed(settings.seed)
    model = _make_trainable(base, settings).to(processes.device)
    optimizer = _make_optimizer(model, settings)
    trainer = _Trainer(model, tokenizer, contract, optimizer, data, settings, processes)
    fingerprint = _fingerprint(base, data, contract, settings, validation)
    state = load_checkpoint(checkpoints, fingerprint, model, optimizer) if checkpoints else TrainingState()
    resumed = state.step
    if processes.is_main_process:
        for number, row in enumerate(state.history):
            if row:
                log(row, number)
    started = time.perf_counter()
    tokens = 0
    stopped = _is_stale(state, settings)
    with tqdm(
        total=settings.steps, initial=state.step, unit="step", desc="train", disable=not processes.is_main_process
    ) as bar:
        if not state.history:
            _record(state, {}, trainer, validation, log)
        while state.step < settings.steps and not stopped:
            state.step += 1
            figures, used = trainer.step(state.step)
            tokens += used
            seconds = time.perf_counter() - started
            figures["pairs_per_second"] = (state.step - resumed) * trainer.batch_size / seconds
            _record(state, figures, trainer, validation, log)
            stopped = _is_stale(state, settings)
            last = stopped or state.step == settings.steps
            if checkpoints and settings.checkpoint_every and not last and state.step % settings.checkpoint_every == 0:
                if processes.is_main_process:
                    save_checkpoint(checkpoints, fingerprint, state, model, optimizer)
                processes.wait_for_everyone()
            bar.set_postfix(loss=f"{figures['loss']:.3f}", masked=f"{figures['masked_share']:.3f}", refresh=False)
            bar.update()
    seconds = time.perf_counter() - started
    if state.best:
        restore_trained(model, state.best)
    else:
        state.best_step = state.step
    counts = [parameter.numel() for parameter in model.parameters() if parameter.requires_grad]
    total = sum(parameter.numel() for parameter in model.parameters())
    if processes.is_main_process:
        merged = model.merge_and_unload() if settings.lora else model
        save_model_folder(merged, tokenizer, contract, out)
        if checkpoints:
            shutil.rmtree(checkpoints, ignore_errors=True)
    processes.wait_for_everyone()
    rows = state.history[1:]
    tail = rows[-max(1, len(rows) // 10) :]
    return TrainingSummary(
        steps=state.step,
        best_step=state.best_step,
        stopped_early=stopped and state.step < settings.steps,
        resumed_from=resumed,
        loss=float(np.mean([row["loss"] for row in tail])),
        masked_share=float(np.mean([row["masked_share"] for row in rows])),
        pairs_per_second=(state.step - resumed) * trainer.batch_size / seconds,
        tokens_per_second=tokens / seconds,
        seconds=seconds,
        trainable=sum(counts),
        parameters=total,
        validation=state.validation,
    )


class _Trainer:
    """One process's part of the training steps."""

    def __init__(
        self,
        model: nn.Module,
        tokenizer: PreTrainedTokenizerBase,
        contract: TokenizationContract,
        optimizer: torch.optim.Optimizer,
        data: _TrainingData,
        settings: TrainingSettings,
        processes: PartialState,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.contract = contract
        self.optimizer = optimizer
        self.data = data
        self.settings = settings
        self.processes = processes
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.loss = MaskedInfoNCE(
            settings.temperature,
            settings.margin,
            bidirectional=settings.bidirectional,
            matryoshka=settings.matryoshka,
        )
        lengths = [
            len(data.queries[row]) + len(data.documents[data.document_of[row]]) for row in range(len(data.queries))
        ]
        self.plan = plan_batches(
            data.declarations,
            np.array(lengths, dtype=np.int64),
            batch_size=settings.batch_size,
            steps=settings.steps,
            seed=settings.seed,
            bucket=settings.bucket,
        )
        self.batch_size = len(self.plan[0])

    def step(self, number: int) -> tuple[dict[str, float], int]:
        """Make optimizer step `number` (1-based); returns its figures and the tokens embedded."""
        settings, data = self.settings, self.data
        rows = self.plan[number - 1]
        wanted = [int(data.document_of[row]) for row in rows]
        hard = [name for row in rows for name in (data.hard_of[row] if data.hard_of else [])]
        documents = list(dict.fromkeys([*wanted, *hard]))
        place = {document: at for at, document in enumerate(documents)}
        positives = torch.tensor([place[document] for document in wanted], device=self.processes.device)
        families = torch.from_numpy(data.families[documents]).to(self.processes.device)
        texts = [*(data.queries[row] for row in rows), *(data.documents[row] for row in documents)]
        lengths = np.array([len(text) for text in texts], dtype=np.int64)
        mine, cached = self._share(lengths)
        outputs: list[LossOutput] = []

        def loss_of(own: Tensor) -> Tensor:
            vectors = self._gather(own, np.concatenate(mine), len(texts))
            outputs.append(self.loss(vectors[: len(rows)], vectors[len(rows) :], positives, families))
            return outputs[-1].loss

        # Random numbers depend on seed, step and process alone, so a resumed run repeats them.
        torch.manual_seed((settings.seed * 1_000_003 + number) * 64 + self.processes.process_index)
        self.model.train()
        rate = settings.learning_rate * _schedule(number, settings)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        forwards = [lambda batch=batch: self._embed([texts[row] for row in batch]) for batch in mine]
        (backward_cached if cached else backward_plain)(forwards, loss_of)
        self._sum_gradients()
        norm = nn.utils.clip_grad_norm_(self.parameters, settings.max_grad_norm).item()
        loss = outputs[-1].loss.item()
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise InputError(f"step {number}", f"loss {loss}, gradient norm {norm}", "lower retriever.learning_rate")
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        figures = {
            "loss": loss,
            "masked_share": outputs[-1].masked_share,
            "family_share": outputs[-1].family_share,
            "learning_rate": rate,
            "grad_norm": norm,
        }
        return figures, int(lengths.sum())

    def validate(self, validation: ValidationSet) -> float:
        """nDCG@10 of the current weights."""
        self.model.eval()
        encoder = Encoder(self.model, self.tokenizer, self.contract, device=self.processes.device, digest="")
        queries = encoder.encode_queries(validation.queries)
        documents = encoder.encode_documents(validation.documents)
        ranks = exact_ranks(queries, documents, np.asarray(validation.golds, dtype=np.int64))
        return float(np.where(ranks <= 10, 1 / np.log2(ranks + 1), 0.0).mean())

    def _share(self, lengths: npt.NDArray[np.int64]) -> tuple[list[npt.NDArray[np.int64]], bool]:
        """This process's micro-batches, and whether their activations need the gradient cache."""
        world = self.processes.num_processes
        budget = min(self.settings.micro_batch_tokens, max(1, int(lengths.sum()) // world))
        cached = int(lengths.sum()) > world * self.settings.micro_batch_tokens
        if not cached and self.processes.device.type == "cpu":
            budget = min(budget, _CPU_FORWARD_TOKENS)
        batches = list(token_batches(lengths, budget))
        mine = batches[self.processes.process_index :: world]
        if not mine:
            raise InputError("retriever.batch_size", f"{world} processes for {len(lengths)} texts", "a larger batch")
        return mine, cached

    def _embed(self, rows: Sequence[Tokens]) -> Tensor:
        device = self.processes.device
        mixed = self.settings.dtype == "bfloat16"
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=mixed):
            return embed(self.model, rows, self.contract, int(self.tokenizer.pad_token_id or 0), device)

    def _gather(self, own: Tensor, rows: npt.NDArray[np.int64], total: int) -> Tensor:
        """All vectors (total, dim) in order: this process's carry a gradient, the others' do not."""
        places = torch.from_numpy(rows).to(own.device)
        vectors = torch.zeros(total, own.shape[1], device=own.device).index_copy(0, places, own)
        if self.processes.num_processes == 1:
            return vectors
        others = vectors.detach().clone()
        torch.distributed.all_reduce(others)
        return vectors + others.index_fill(0, places, 0.0)

    def _sum_gradients(self) -> None:
        if self.processes.num_processes == 1:
            return
        for parameter in self.parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            torch.distributed.all_reduce(parameter.grad)


def _tokenise(
    pairs: pd.DataFrame,
    document_text: Callable[[str, str], str],
    family_of: Mapping[str, str],
    hard_negatives: Sequence[Sequence[str]],
    tokenizer: PreTrainedTokenizerBase,
    contract: TokenizationContract,
) -> _TrainingData:
    if pairs.empty:
        raise InputError("pairs", "no training pairs", "look at the stages that make and filter queries")
    if hard_negatives and len(hard_negatives) != len(pairs):
        raise InputError("hard_negatives", f"{len(hard_negatives)} rows for {len(pairs)} pairs", "one each")
    queries = pairs["query"].tolist()
    for identifier, query in zip(pairs["query_id"], queries, strict=True):
        if not query.strip():
            raise InputError(f"query {identifier}", "is empty", "the audit lists empty queries")
    names, views = pairs["declaration"].tolist(), pairs["document_view"].tolist()
    place: dict[tuple[str, str], int] = {}

    def number(name: str, view: str) -> int:
        return place.setdefault((name, view), len(place))

    document_of = np.array([number(name, view) for name, view in zip(names, views, strict=True)], dtype=np.int64)
    hard_of = [[number(name, view) for name in row] for row, view in zip(hard_negatives, views, strict=False)]
    texts = [document_text(name, view) for name, view in place]
    families = _numbered([family_of.get(name, name) for name, _ in place])
    digest = hashlib.sha256()
    for row in (*zip(queries, names, views, strict=True), *zip(place, texts, families.tolist(), strict=True), hard_of):
        digest.update(json.dumps(row, ensure_ascii=False).encode())
    return _TrainingData(
        queries=tokenize(tokenizer, queries, contract, "query"),
        documents=tokenize(tokenizer, texts, contract, "document"),
        document_of=document_of,
        hard_of=hard_of,
        families=families,
        declarations=_numbered(names),
        digest=digest.hexdigest(),
    )


def _numbered(values: Sequence[str]) -> npt.NDArray[np.int64]:
    """Equal texts get equal numbers."""
    return pd.factorize(np.array(values, dtype=object))[0].astype(np.int64)


def _make_trainable(base: Path, settings: TrainingSettings) -> Any:
    # Adapters train in float32 on top of frozen half-precision weights; full fine-tuning keeps float32 masters.
    half = settings.lora is not None and settings.dtype == "bfloat16"
    model: Any = load_backbone(base, torch.bfloat16 if half else torch.float32)
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = settings.dropout
    if settings.gradient_checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    if settings.lora:
        if settings.gradient_checkpointing:
            model.enable_input_require_grads()
        from peft import LoraConfig, get_peft_model  # noqa: PLC0415 - seconds to import, and few runs need it

        config = LoraConfig(
            r=settings.lora.rank,
            lora_alpha=settings.lora.alpha,
            target_modules=list(settings.lora.targets),
            lora_dropout=settings.dropout,
        )
        try:
            model = get_peft_model(model, config)
        except ValueError as error:
            raise InputError(
                "retriever.lora.targets", str(error).splitlines()[0][:200], "name linear layers"
            ) from error
    return model


def _make_optimizer(model: nn.Module, settings: TrainingSettings) -> torch.optim.Optimizer:
    decayed: list[nn.Parameter] = []
    plain: list[nn.Parameter] = []
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            (plain if any(word in name.lower() for word in _NO_DECAY) else decayed).append(parameter)
    groups: list[dict[str, Any]] = [
        {"params": decayed, "weight_decay": settings.weight_decay},
        {"params": plain, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, fused=True)


def _schedule(step: int, settings: TrainingSettings) -> float:
    """Share of the highest learning rate at `step` (1-based): linear up, then linear down towards 0."""
    warmup = max(1, round(settings.warmup_share * settings.steps))
    if step <= warmup:
        return step / warmup
    return (settings.steps + 1 - step) / (settings.steps + 1 - warmup)


def _record(
    state: TrainingState,
    figures: dict[str, float],
    trainer: _Trainer,
    validation: ValidationSet | None,
    log: Log,
) -> None:
    settings = trainer.settings
    due = settings.validate_every and (state.step % settings.validate_every == 0 or state.step == settings.steps)
    if validation is not None and due:
        score = trainer.validate(validation)
        figures["validation_ndcg_at_10"] = score
        if settings.patience and score > max(state.validation.values(), default=-1.0):
            state.best, state.best_step = copy_trained(trainer.model), state.step
        state.validation[state.step] = score
    state.history.append(figures)
    if trainer.processes.is_main_process and figures:
        log(figures, state.step)


def _is_stale(state: TrainingState, settings: TrainingSettings) -> bool:
    since = [step for step in state.validation if step > state.best_step]
    return bool(settings.patience and state.validation and len(since) >= settings.patience)


def _fingerprint(
    base: Path,
    data: _TrainingData,
    contract: TokenizationContract,
    settings: TrainingSettings,
    validation: ValidationSet | None,
) -> str:
    seen = hashlib.sha256()
    if validation is not None:
        for text in (*validation.queries, *validation.documents, *map(str, validation.golds)):
            seen.update(text.encode() + b"\0")
    parts = [weights_digest(base), data.digest, contract.digest(), asdict(settings), seen.hexdigest()]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
