"""The supervised start: a base model learns to write queries as people and agents type them.

Untuned, a small model chats about the theorem instead of asking for it; a reward has nothing to rank then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import torch
from torch.optim.lr_scheduler import LambdaLR
from tqdm import tqdm

from lean_finder.generation.models import LoraSettings, add_adapter, best_device, load_generator, save_generator
from lean_finder.generation.supervision import StyleBatches, language_model_loss

logger = logging.getLogger(__name__)

Log = Callable[[Mapping[str, float], int], None]


@dataclass(frozen=True)
class SftSettings:
    """How the supervised start trains.

    Attributes:
        seed: of the adapter's first weights and of the order.
        steps: optimizer steps.
        batch_size: pairs per step.
        learning_rate: peak; it rises linearly over `warmup_share` of the steps and falls linearly to zero.
        warmup_share: share of the steps.
        weight_decay: of AdamW.
        max_grad_norm: gradients are scaled down to this norm.
        max_query_tokens: longer queries are cut, end token included.
        prompt_gradients: see `likelihood.completion_log_probabilities`; off halves the time on a CPU.
        lora: the adapter; None trains all weights.
        device: as torch names it, or "auto".
        dtype: of the weights, as torch names it.
    """

    seed: int
    steps: int
    batch_size: int
    learning_rate: float
    warmup_share: float = 0.1
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    max_query_tokens: int = 50
    prompt_gradients: bool = True
    lora: LoraSettings | None = field(default_factory=LoraSettings)
    device: str = "auto"
    dtype: str = "float32"


def supervised_start(base: Path, pairs: pd.DataFrame, settings: SftSettings, out: Path, log: Log) -> dict[str, float]:
    """Train `base` on (prompt, query) pairs and save the generator of round 0 as a folder.

    The loss is on the query's tokens alone. Equal arguments on one machine give equal weights, so an interrupted
    run simply starts again.

    Args:
        base: complete model folder.
        pairs: columns prompt and query, see `prompts.style_pair_frame`.
        settings: how to train.
        out: the generator folder to write, whole or not at all.
        log: called with the step's numbers and the 1-based step.

    Returns:
        steps, epochs, trainable parameters, and the loss (nats per token) of the first and last tenth of the steps.

    Raises:
        InputError: no base model, or no pairs.
    """
    device = best_device(settings.device)
    generator = load_generator(base, base, device=device, dtype=settings.dtype)
    batches = StyleBatches(
        pairs["prompt"].tolist(),
        pairs["query"].tolist(),
        generator.tokenizer,
        settings.batch_size,
        settings.seed,
        settings.max_query_tokens,
    )
    if settings.lora is not None:
        generator = add_adapter(generator, settings.lora, settings.seed)
    generator.model.train()
    parameters = [parameter for parameter in generator.model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=settings.learning_rate, weight_decay=settings.weight_decay)
    scheduler = LambdaLR(optimizer, lambda step: learning_rate_share(step, settings.steps, settings.warmup_share))
    losses: list[float] = []
    for step in tqdm(range(settings.steps), desc="supervised start", unit="step"):
        loss = language_model_loss(generator.model, batches.batch(step, device), settings.prompt_gradients)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(parameters, settings.max_grad_norm)
        log(
            {"loss": loss.item(), "grad_norm": norm.item(), "learning_rate": float(scheduler.get_last_lr()[0])},
            step + 1,
        )
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
    generator.model.eval()
    save_generator(generator, base.name, out)
    tenth = max(1, len(losses) // 10)
    return {
        "steps": settings.steps,
        "epochs": settings.steps / batches.per_epoch,
        "trainable_parameters": sum(parameter.numel() for parameter in parameters),
        "first_loss": sum(losses[:tenth]) / tenth,
        "last_loss": sum(losses[-tenth:]) / tenth,
    }


def learning_rate_share(step: int, steps: int, warmup_share: float) -> float:
    """Linear warm-up from 1/w to 1 over w = warmup_share * steps steps, then linear decay; > 0 at every real step."""
    warmup = max(1, round(steps * warmup_share))
    if step < warmup:
        return (step + 1) / warmup
    return max(0.0, (steps - step) / max(1, steps - warmup + 1))
