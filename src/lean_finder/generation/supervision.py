"""Language modelling on real queries: the loss of the supervised start and of GRPO's fading term."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from lean_finder.errors import InputError
from lean_finder.generation.decoding import left_pad, right_pad
from lean_finder.generation.likelihood import completion_log_probabilities

Schedule = Literal["linear", "cosine", "constant"]


@dataclass(frozen=True)
class StyleBatch:
    """Prompts padded on the left and queries, each with its end token, padded on the right: int64 (B, P) and (B, Q)."""

    prompt_ids: torch.Tensor
    prompt_mask: torch.Tensor
    query_ids: torch.Tensor
    query_mask: torch.Tensor


class StyleBatches:
    """An endless, reproducible stream of batches: batch `step` depends on the seed and on `step` alone.

    Every epoch visits every pair once (the last, incomplete batch is filled from the epoch's beginning). Rows of like
    length share a batch, so that little is padding.

    Args:
        prompts: prompt texts.
        queries: the queries that should follow them, same length.
        tokenizer: the generator's.
        batch_size: pairs per batch.
        seed: of the order.
        max_query_tokens: longer queries are cut.

    Raises:
        InputError: there are no pairs.
    """

    _BUCKET = 8  # batches that are sorted together: enough to pad little, few enough to keep the order random

    def __init__(
        self,
        prompts: Sequence[str],
        queries: Sequence[str],
        tokenizer: Any,
        batch_size: int,
        seed: int,
        max_query_tokens: int,
    ) -> None:
        if not prompts:
            raise InputError("style queries", "there are none to train on", "restore the file: dvc pull")
        self._prompts = tokenizer(list(prompts), add_special_tokens=False)["input_ids"]
        answers = tokenizer(list(queries), add_special_tokens=False)["input_ids"]
        self._queries = [[*ids[: max_query_tokens - 1], tokenizer.eos_token_id] for ids in answers]
        self._padding = tokenizer.pad_token_id
        self._batch_size = min(batch_size, len(prompts))
        self._seed = seed
        self._lengths = np.array([len(p) + len(q) for p, q in zip(self._prompts, self._queries, strict=True)])
        self._epoch: tuple[int, np.ndarray] = (-1, np.zeros(0, dtype=np.int64))

    @property
    def per_epoch(self) -> int:
        """Batches per epoch."""
        return math.ceil(len(self._prompts) / self._batch_size)

    def rows(self, step: int) -> list[int]:
        """Indices of the pairs in batch `step`."""
        epoch, place = divmod(step, self.per_epoch)
        if self._epoch[0] != epoch:
            self._epoch = (epoch, self._batches_of(epoch))
        return [int(row) for row in self._epoch[1][place]]

    def _batches_of(self, epoch: int) -> np.ndarray:
        """All batches of an epoch: int64 (per_epoch, batch_size)."""
        rng = np.random.default_rng([self._seed, epoch])
        order = rng.permutation(len(self._prompts))
        order = np.concatenate([order, order[: self.per_epoch * self._batch_size - len(order)]])
        width = self._batch_size * self._BUCKET
        buckets = [order[start : start + width] for start in range(0, len(order), width)]
        ordered = np.concatenate([bucket[np.argsort(self._lengths[bucket], kind="stable")] for bucket in buckets])
        return rng.permutation(ordered.reshape(self.per_epoch, self._batch_size), axis=0)

    def batch(self, step: int, device: torch.device | str = "cpu") -> StyleBatch:
        """Batch `step` as tensors."""
        rows = self.rows(step)
        prompt_ids, prompt_mask = left_pad([self._prompts[row] for row in rows], self._padding, device)
        query_ids, query_mask = right_pad([self._queries[row] for row in rows], self._padding, device)
        return StyleBatch(prompt_ids, prompt_mask, query_ids, query_mask)


def language_model_loss(model: Any, batch: StyleBatch, prompt_gradients: bool = True) -> torch.Tensor:
    """Mean negative log-likelihood, in nats per token, of the query tokens (end token included); scalar."""
    log_probabilities, _ = completion_log_probabilities(
        model,
        batch.prompt_ids,
        batch.prompt_mask,
        batch.query_ids,
        batch.query_mask,
        prompt_gradients=prompt_gradients,
    )
    return -(log_probabilities * batch.query_mask).sum() / batch.query_mask.sum()


def sft_weight(step: int, steps: int, start: float, end: float, schedule: Schedule) -> float:
    """Weight of the supervised term at a 0-based step of `steps`: `start` at the first, `end` at the last.

    linear: start + (end - start) t with t = step / (steps - 1); cosine: the same with (1 - cos(pi t)) / 2 for t;
    constant: start.
    """
    t = step / (steps - 1) if steps > 1 else 0.0
    if schedule == "constant":
        return start
    if schedule == "cosine":
        t = (1 - math.cos(math.pi * t)) / 2
    elif schedule != "linear":
        raise ValueError(f"unknown schedule {schedule!r}")
    return start + (end - start) * t
