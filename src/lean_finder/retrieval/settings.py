"""What training a retriever takes and gives back, as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lean_finder.errors import InputError


@dataclass(frozen=True, slots=True)
class LoraSettings:
    """Low-rank adapters instead of full fine-tuning; merged into the weights when the model is saved.

    `targets` are names of linear layers, e.g. ("query", "value") for BERT or ("q_proj", "v_proj") for Qwen3.
    """

    rank: int = 16
    alpha: int = 32
    targets: tuple[str, ...] = ("query", "key", "value", "dense")


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """One training run.

    Attributes:
        seed: fixes batches, dropout and adapters.
        steps: optimizer steps.
        batch_size: pairs of a step over all processes; more than there are pairs means all of them.
        micro_batch_tokens: tokens (padding included) whose activations are in memory at once on one device;
            a batch above it is trained by gradient caching, with the same result.
        learning_rate: highest value; linear warm-up, then linear decay to 0.
        warmup_share: share of the steps spent warming up.
        weight_decay: AdamW's, on matrices only (not on biases and norms).
        temperature, margin, bidirectional, matryoshka: see `loss.MaskedInfoNCE`.
        max_grad_norm: gradients are scaled down to this norm.
        dropout: of all dropout layers during training.
        bucket: batches sorted by length together, see `batching.plan_batches`.
        dtype: "float32", or "bfloat16" for mixed precision.
        gradient_checkpointing: recompute activations layer by layer: less memory, a third more time.
        lora: None trains all weights.
        validate_every: steps between validations; 0 = none.
        patience: stop after this many validations without a better nDCG@10 and keep the best weights; 0 = never
            stop early and keep the last weights.
        checkpoint_every: steps between checkpoints; 0 = none.
    """

    seed: int
    steps: int
    batch_size: int
    learning_rate: float
    temperature: float
    margin: float
    micro_batch_tokens: int = 16384
    warmup_share: float = 0.1
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0
    bidirectional: bool = False
    matryoshka: tuple[int, ...] = ()
    dropout: float = 0.1
    bucket: int = 16
    dtype: str = "float32"
    gradient_checkpointing: bool = False
    lora: LoraSettings | None = None
    validate_every: int = 0
    patience: int = 0
    checkpoint_every: int = 50

    def __post_init__(self) -> None:
        at_least = {"steps": 1, "batch_size": 2, "micro_batch_tokens": 1, "bucket": 1, "validate_every": 0}
        at_least |= {"patience": 0, "checkpoint_every": 0}
        for name, lowest in at_least.items():
            if getattr(self, name) < lowest:
                raise InputError(f"retriever.{name}", f"{getattr(self, name)}", f"at least {lowest}")
        for name in ("learning_rate", "max_grad_norm", "temperature"):
            if not getattr(self, name) > 0:
                raise InputError(f"retriever.{name}", f"{getattr(self, name)}", "above 0")
        for name in ("warmup_share", "dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(f"retriever.{name}", f"{getattr(self, name)}", "at least 0 and below 1")
        if self.dtype not in ("float32", "bfloat16"):
            raise InputError("retriever.dtype", f"cannot train in {self.dtype!r}", "float32 or bfloat16")
        if self.patience and not self.validate_every:
            raise InputError("retriever.patience", "early stopping without validation", "set validate_every")


@dataclass(frozen=True, slots=True)
class ValidationSet:
    """Rendered queries with the row of their gold among rendered documents (the corpus, or a sample of it)."""

    queries: Sequence[str]
    documents: Sequence[str]
    golds: Sequence[int]

    def __post_init__(self) -> None:
        if len(self.queries) != len(self.golds) or not self.queries:
            raise InputError("validation", f"{len(self.queries)} queries, {len(self.golds)} golds", "one gold each")
        if not all(0 <= gold < len(self.documents) for gold in self.golds):
            raise InputError("validation", "a gold is not among the documents", "add it to the documents")


@dataclass(frozen=True, slots=True)
class TrainingSummary:
    """What a training run did.

    Attributes:
        steps: optimizer steps made, resumed ones included.
        best_step: step of the saved weights.
        stopped_early: validation stopped it.
        resumed_from: step of the checkpoint it went on from, 0 if it started anew.
        loss: mean over the last tenth of the steps.
        masked_share: mean over all steps, see `loss.LossOutput`.
        pairs_per_second, tokens_per_second: over the steps made by this process group now.
        seconds: wall time of those steps.
        trainable, parameters: weights trained, weights in all.
        validation: nDCG@10 by step, step 0 being the untuned base.
    """

    steps: int
    best_step: int
    stopped_early: bool
    resumed_from: int
    loss: float
    masked_share: float
    pairs_per_second: float
    tokens_per_second: float
    seconds: float
    trainable: int
    parameters: int
    validation: dict[int, float] = field(default_factory=dict)
