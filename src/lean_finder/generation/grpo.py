"""GRPO with a fading supervised term: the generator learns what its retriever does not find.

Follows section 2.2 of Lean Finder V2 on `trl.GRPOTrainer`, except: (1) the paper states neither group size nor
clipping, KL weight or learning rate: ours are parameters; (2) prompts are computed once per group, in sampling and in
the loss (same values, a third of the work); (3) every random number is drawn from (seed, step, row), so a resumed run
continues with the very numbers that an undisturbed one would have drawn.
"""

from __future__ import annotations

import hashlib
import json
import logging
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
from datasets import Dataset
from peft import PeftModel, set_peft_model_state_dict
from safetensors.torch import load_file
from torch.optim.lr_scheduler import LambdaLR
from tqdm import tqdm
from transformers import PrinterCallback, ProgressCallback, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from lean_finder.errors import InputError
from lean_finder.generation.checkpoints import Checkpoint, discard_checkpoints, latest_checkpoint, save_checkpoint
from lean_finder.generation.collapse import CollapseSettings, CollapseWatch
from lean_finder.generation.decoding import DecodingSettings, sample_tokens, uniforms
from lean_finder.generation.likelihood import completion_log_probabilities
from lean_finder.generation.models import (
    ADAPTER_WEIGHTS,
    Generator,
    LoraSettings,
    add_adapter,
    best_device,
    load_generator,
    merged_adapter,
    save_generator,
)
from lean_finder.generation.probe import Probe, ProbeSettings
from lean_finder.generation.reward import RankReward
from lean_finder.generation.sft import Log, learning_rate_share
from lean_finder.generation.supervision import Schedule, StyleBatches, language_model_loss, sft_weight
from lean_finder.storage import atomic_path, file_digest, write_json

logger = logging.getLogger(__name__)
# trl prints the whole prompt for every row without a reward; RankReward counts those rows
logging.getLogger("trl.trainer.grpo_trainer").setLevel(logging.ERROR)

#: What trl logs that depends on the clock (equal runs shall give equal files), or says what another column says.
_LEFT_OUT = (
    "step_time",
    "num_tokens",
    "epoch",
    "total_flos",
    "rewards/",
    "part/reward",
    "clip_ratio/low",
    "clip_ratio/high",
)


@dataclass(frozen=True)
class GrpoSettings:
    """Everything that changes the result of a run; nothing is inherited from trl's defaults.

    Attributes:
        seed: of the prompt order, the samples and the supervised batches.
        steps: optimizer steps.
        prompts_per_step: declarations per optimizer step.
        group_size: G, queries sampled per declaration.
        gradient_accumulation: micro-batches per optimizer step; prompts_per_step * group_size must divide by it.
        learning_rate: peak, with linear warm-up over `warmup_share` and linear decay.
        warmup_share: share of the steps.
        max_grad_norm: gradients are scaled down to this norm.
        loss_type: of trl: "dapo", "dr_grpo", "bnpo", "grpo", ...
        scale_rewards: of trl: "group", "batch" or "none".
        beta: weight of the KL term against the generator it started from; 0 = no term (and no KL in the history).
        epsilon: clipping of the importance ratio.
        decoding: temperature, top_p, top_k, max_new_tokens of the samples.
        sft_start: weight of the supervised term at the first step.
        sft_end: at the last step.
        sft_schedule: how it falls, see `supervision.sft_weight`.
        sft_batch_size: real pairs per micro-batch.
        max_query_tokens: longer real queries are cut.
        lora: a fresh adapter's shape, when the start is a complete model; None trains all weights.
        sampler: "transformers", or trl's vLLM modes "vllm_colocate" and "vllm_server" where vllm is installed.
        share_prompts: compute a group's prompt once in the loss; False = trl's own fused loss, which needs
            less memory and allows gradient checkpointing.
        prompt_gradients: see `likelihood.completion_log_probabilities`; off saves a third of the time on a CPU.
        gradient_checkpointing: trade time for memory.
        checkpoint_every: steps between checkpoints; 0 = none.
        collapse: when to stop early; None = never.
        probe: what is written at fixed declarations and random numbers along the way; None = no probe.
        device: as torch names it, or "auto".
        dtype: of the weights, as torch names it.
    """

    seed: int
    steps: int
    prompts_per_step: int
    group_size: int
    learning_rate: float
    gradient_accumulation: int = 1
    warmup_share: float = 0.1
    max_grad_norm: float = 1.0
    loss_type: str = "dapo"
    scale_rewards: str = "group"
    beta: float = 0.0
    epsilon: float = 0.2
    decoding: DecodingSettings = field(default_factory=DecodingSettings)
    sft_start: float = 0.5
    sft_end: float = 0.0
    sft_schedule: Schedule = "linear"
    sft_batch_size: int = 8
    max_query_tokens: int = 50
    lora: LoraSettings | None = field(default_factory=LoraSettings)
    sampler: Literal["transformers", "vllm_colocate", "vllm_server"] = "transformers"
    share_prompts: bool = True
    prompt_gradients: bool = True
    gradient_checkpointing: bool = False
    checkpoint_every: int = 0
    collapse: CollapseSettings | None = field(default_factory=CollapseSettings)
    probe: ProbeSettings | None = None
    device: str = "auto"
    dtype: str = "float32"


class FadingSftTrainer(GRPOTrainer):
    """`GRPOTrainer` whose loss is L_GRPO + w(step) L_LM, with prompts shared within a group.

    Args:
        styles: the supervised batches.
        settings: of the run.
        first_step: optimizer steps done before this process started (> 0 when resumed).
        **trl: as for `GRPOTrainer`.
    """

    def __init__(self, *, styles: StyleBatches, settings: GrpoSettings, first_step: int, **trl: Any) -> None:
        super().__init__(**trl)
        self._styles = styles
        self._settings = settings
        self._first_step = first_step
        self._wanted: torch.Tensor | None = None  # rows of the batch at hand that need a gradient

    @property
    def step_now(self) -> int:
        """0-based optimizer step of the whole run, resumed or not."""
        return self._first_step + self.state.global_step

    def _prepare_inputs(self, generation_batch: Any) -> Any:
        # trl shuffles samples over micro-batches with torch's global generator; tie that to the step as well
        torch.manual_seed(self._settings.seed * 1_000_003 + self.step_now)
        return super()._prepare_inputs(generation_batch)

    def _generate_single_turn(
        self, prompt_ids: Any, images: Any, multimodal_fields: Any, num_generations: int, has_tool_images: bool = False
    ) -> Any:
        if self._settings.sampler != "transformers":
            return super()._generate_single_turn(
                prompt_ids, images, multimodal_fields, num_generations, has_tool_images
            )
        distinct = list(dict.fromkeys(tuple(ids) for ids in prompt_ids))
        place = {ids: index for index, ids in enumerate(distinct)}
        first_row = self.accelerator.process_index * len(prompt_ids)
        keys = [f"{self.step_now}/{first_row + row}" for row in range(len(prompt_ids))]
        decoding = self._settings.decoding
        with merged_adapter(self.accelerator.unwrap_model(self.model)) as model:
            completions = sample_tokens(
                model,
                distinct,
                [place[tuple(ids)] for ids in prompt_ids],
                uniforms(self._settings.seed, keys, decoding.max_new_tokens),
                decoding,
                Generator(model, self.processing_class).end_token_ids,
            )
        return completions, None

    def _get_per_token_logps_and_entropies(
        self,
        model: Any,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        logits_to_keep: int,
        *args: Any,
        compute_entropy: bool = False,
        **kwargs: Any,
    ) -> Any:
        if not self._settings.share_prompts:
            return super()._get_per_token_logps_and_entropies(
                model, input_ids, attention_mask, logits_to_keep, *args, compute_entropy=compute_entropy, **kwargs
            )
        log_probabilities, entropies = completion_log_probabilities(
            model,
            input_ids[:, :-logits_to_keep],
            attention_mask[:, :-logits_to_keep],
            input_ids[:, -logits_to_keep:],
            attention_mask[:, -logits_to_keep:],
            self.temperature,
            self._settings.prompt_gradients,
            self._wanted,
        )
        return log_probabilities, entropies if compute_entropy else None, None

    def _compute_loss(self, model: Any, inputs: Any) -> torch.Tensor:
        step, settings = self.step_now, self._settings
        weight = sft_weight(step, settings.steps, settings.sft_start, settings.sft_end, settings.sft_schedule)
        pulled = inputs["advantages"] != 0
        # Where a group's rewards are all equal and no KL term is added, nothing pulls: half of its work is saved.
        # (A loss without any gradient is no loss to torch, so something is kept if there is no supervised term either.)
        self._wanted = pulled if self.beta == 0.0 and (weight or bool(pulled.any())) else None
        loss: torch.Tensor = super()._compute_loss(model, inputs)
        self._wanted = None
        self._metrics["train"]["sft_weight"].append(weight)
        if weight == 0:
            return loss
        micro_batch = step * settings.gradient_accumulation + self._step % settings.gradient_accumulation
        styles = self._styles.batch(micro_batch, loss.device)
        supervised = language_model_loss(model, styles, settings.prompt_gradients)
        self._metrics["train"]["sft_loss"].append(supervised.item())
        return loss + weight * supervised / self.current_gradient_accumulation_steps


class _Recorder(TrainerCallback):
    """Turns trl's logs into history rows, takes probes, shows progress, writes checkpoints, stops a collapsed run."""

    def __init__(
        self,
        resumed: Checkpoint | None,
        settings: GrpoSettings,
        log: Log,
        save: Callable[[int], None] | None,
        probe: Probe | None,
        generator: Generator,
    ) -> None:
        self.history = list(resumed.history) if resumed else []
        self.probes = list(resumed.probes) if resumed else []
        self.stopped = ""
        self._settings = settings
        self._log = log
        self._save = save
        self._probe = probe
        self._generator = generator
        self._watch = CollapseWatch(settings.collapse) if settings.collapse else None
        self._bar = tqdm(total=settings.steps, initial=len(self.history), desc="GRPO", unit="step")

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if not self.history:
            self._take_probe(0)

    def on_log(self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **_: Any) -> None:
        if not logs or "reward" not in logs:  # the closing summary of transformers
            return
        step = len(self.history) + 1
        row = {"step": float(step)}
        for key, value in sorted(logs.items()):
            if value is not None and not key.startswith(_LEFT_OUT) and np.isfinite(value):
                row[key.replace("/", "_")] = float(value)
        self.history.append(row)
        self._log(row, step)
        self._bar.update(1)
        self._bar.set_postfix({"reward": f"{row.get('reward', float('nan')):.3f}"})
        reason = self._watch.update(row) if self._watch else None
        if reason:
            self.stopped = reason
            control.should_training_stop = True
            logger.warning("GRPO stopped at step %d: %s", step, reason)
        self._take_probe(step, last=bool(reason) or step == self._settings.steps)
        every = self._settings.checkpoint_every
        if self._save is not None and every and step % every == 0 and step < self._settings.steps:
            self._save(step)

    def _take_probe(self, step: int, last: bool = False) -> None:
        if self._probe is not None and (last or self._probe.is_due(step)):
            self.probes.append(self._probe.take(self._generator, step))

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._bar.close()


def train_generator(
    start: Path,
    base: Path,
    prompts: pd.DataFrame,
    style_pairs: pd.DataFrame,
    reward: RankReward,
    settings: GrpoSettings,
    out: Path,
    log: Log,
    checkpoints: Path | None = None,
    inputs_digest: str = "",
) -> dict[str, Any]:
    """Train a generator against a reward and save it as a folder.

    `out` gets the generator itself, `curve.csv` and `history.json` (both one row per step: reward, its parts, rank
    bands, lengths, entropy, KL if beta > 0, supervised weight and loss; the latter with the probes, see `probe`).

    Args:
        start: generator to continue from: an adapter, or a complete model (which gets a fresh adapter).
        base: complete model below the adapter.
        prompts: columns declaration and prompt, see `prompts.prompt_frame`.
        style_pairs: columns prompt and query, see `prompts.style_pair_frame`.
        reward: see `reward.RankReward`.
        settings: everything that changes the result.
        out: folder to write, whole or not at all.
        log: called with a step's history row and the 1-based step.
        checkpoints: folder for resuming; a checkpoint of other settings or inputs is discarded. Removed at the end.
        inputs_digest: digest of what the reward rests on (retriever, index, judge), which must not change on resuming.

    Returns:
        A JSON-ready summary: steps done, why it stopped early ("" if it did not), first and last values of the reward
        and its parts (means over a fifth of the steps), the reward's slope per step, sums of the counts.

    Raises:
        InputError: a model is missing, there are no prompts or pairs, or the sizes do not divide.
    """
    if prompts.empty:
        raise InputError("prompts", "there are no declarations to train on", "check the split")
    completions = settings.prompts_per_step * settings.group_size
    if completions % settings.gradient_accumulation:
        raise InputError(
            "generator.grpo.gradient_accumulation",
            f"{settings.gradient_accumulation} does not divide {completions} completions per step",
            "choose a divisor of prompts_per_step * group_size",
        )
    fingerprint = _fingerprint(start, prompts, style_pairs, reward, settings, inputs_digest)
    resumed = latest_checkpoint(checkpoints, fingerprint) if checkpoints else None
    device = best_device(settings.device)
    generator = load_generator(
        resumed.generator if resumed else start, base, trainable=True, device=device, dtype=settings.dtype
    )
    generator.model.config._name_or_path = str(start)  # where trl finds the KL reference of a complete model
    if settings.lora is not None and not isinstance(generator.model, PeftModel):
        generator = add_adapter(generator, settings.lora, settings.seed)
    recorder = _run(
        generator, start, base, prompts, style_pairs, reward, settings, log, checkpoints, resumed, fingerprint
    )
    history, summary = recorder.history, summarise(recorder.history, recorder.stopped)
    generator.model.eval()
    with atomic_path(Path(out)) as scratch:
        save_generator(generator, base.name, scratch)
        curve = pd.DataFrame(history)
        curve = curve[["step", *sorted(curve.columns.drop("step"))]]  # a resumed history has its keys in another order
        curve.to_csv(scratch / "curve.csv", index=False, lineterminator="\n")
        written = {"settings": asdict(settings), "steps": history, "probes": recorder.probes, "summary": summary}
        write_json(scratch / "history.json", written)
    if checkpoints:
        discard_checkpoints(checkpoints)
    return summary


def _run(
    generator: Generator,
    start: Path,
    base: Path,
    prompts: pd.DataFrame,
    style_pairs: pd.DataFrame,
    reward: RankReward,
    settings: GrpoSettings,
    log: Log,
    checkpoints: Path | None,
    resumed: Checkpoint | None,
    fingerprint: str,
) -> _Recorder:
    """The training itself; what the recorder holds afterwards is its result."""
    first_step = resumed.step if resumed else 0
    styles = StyleBatches(
        style_pairs["prompt"].tolist(),
        style_pairs["query"].tolist(),
        generator.tokenizer,
        settings.sft_batch_size,
        settings.seed,
        settings.max_query_tokens,
    )
    rows = prompt_order(len(prompts), settings)[first_step * settings.prompts_per_step :]
    dataset = Dataset.from_dict({name: prompts[name].iloc[rows].tolist() for name in ("prompt", "declaration")})
    parameters = [parameter for parameter in generator.model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=settings.learning_rate, weight_decay=0.0)
    if resumed:
        resumed.restore(optimizer)
    schedule = LambdaLR(
        optimizer, lambda step: learning_rate_share(first_step + step, settings.steps, settings.warmup_share)
    )

    def save(step: int) -> None:
        save_checkpoint(
            checkpoints, step, generator, base.name, optimizer, recorder.history, recorder.probes, fingerprint
        )

    recorder = _Recorder(
        resumed,
        settings,
        log,
        save if checkpoints else None,
        Probe(prompts, settings.probe, reward, settings.seed) if settings.probe else None,
        generator,
    )
    generator.tokenizer.padding_side = "left"
    with tempfile.TemporaryDirectory() as scratch:
        trainer = FadingSftTrainer(
            styles=styles,
            settings=settings,
            first_step=first_step,
            model=generator.model,
            reward_funcs=[reward],
            args=_trl_config(settings, settings.steps - first_step, scratch),
            train_dataset=dataset,
            processing_class=generator.tokenizer,
            optimizers=(optimizer, schedule),
            callbacks=[recorder],
        )
        if resumed:
            _restore_reference(generator, start)
        for callback in (PrinterCallback, ProgressCallback):  # both write to stdout
            trainer.remove_callback(callback)
        trainer.train()
    return recorder


def _restore_reference(generator: Generator, start: Path) -> None:
    """Put the start's weights into the KL reference, which trl has just copied from the resumed adapter."""
    model = generator.model
    if not isinstance(model, PeftModel) or "ref" not in model.peft_config:
        return
    if (start / ADAPTER_WEIGHTS).is_file():
        set_peft_model_state_dict(model, load_file(start / ADAPTER_WEIGHTS), adapter_name="ref")
        return
    for name, parameter in model.named_parameters():
        if ".lora_B.ref." in name:  # the start was the base model itself: an adapter with B = 0
            parameter.data.zero_()


def prompt_order(n_prompts: int, settings: GrpoSettings) -> np.ndarray:
    """Which prompt each step visits: int64 (steps * prompts_per_step,), epoch after epoch in a fresh random order."""
    wanted = settings.steps * settings.prompts_per_step
    epochs = -(-wanted // n_prompts)
    orders = [np.random.default_rng([settings.seed, epoch]).permutation(n_prompts) for epoch in range(epochs)]
    return np.concatenate(orders)[:wanted]


def summarise(history: list[dict[str, float]], stopped: str) -> dict[str, Any]:
    """First and last fifth of every mean, slope of the reward per step, and sums of the counts."""
    frame = pd.DataFrame(history)
    fifth = max(1, len(frame) // 5)
    summary: dict[str, Any] = {"steps": len(frame), "stopped": stopped}
    for name in sorted(frame.columns.drop("step")):
        values = frame[name].dropna()
        if name.startswith(("count_", "ranks_")):
            summary[f"{name}_total"] = int(values.sum())
        elif len(values):
            summary[f"{name}_first"] = float(values.iloc[:fifth].mean())
            summary[f"{name}_last"] = float(values.iloc[-fifth:].mean())
    rewards = frame[["step", "reward"]].dropna() if "reward" in frame else frame.iloc[:0]
    if len(rewards) > 1:
        summary["reward_slope"] = float(np.polyfit(rewards["step"], rewards["reward"], 1)[0])
    return summary


def _trl_config(settings: GrpoSettings, steps: int, scratch: str) -> GRPOConfig:
    decoding = settings.decoding
    return GRPOConfig(
        output_dir=scratch,
        seed=settings.seed,
        max_steps=steps,
        shuffle_dataset=False,
        per_device_train_batch_size=settings.prompts_per_step * settings.group_size // settings.gradient_accumulation,
        gradient_accumulation_steps=settings.gradient_accumulation,
        num_generations=settings.group_size,
        max_completion_length=decoding.max_new_tokens,
        temperature=decoding.temperature,
        top_p=decoding.top_p,
        top_k=decoding.top_k,
        num_iterations=1,
        loss_type=settings.loss_type,
        scale_rewards=settings.scale_rewards,
        beta=settings.beta,
        epsilon=settings.epsilon,
        max_grad_norm=settings.max_grad_norm,
        learning_rate=settings.learning_rate,
        gradient_checkpointing=settings.gradient_checkpointing,
        use_vllm=settings.sampler != "transformers",
        vllm_mode=settings.sampler.removeprefix("vllm_") if settings.sampler != "transformers" else "colocate",
        bf16=False,
        use_cpu=best_device(settings.device) == "cpu",
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        dataloader_num_workers=0,
        dataloader_pin_memory=False,
    )


def _fingerprint(
    start: Path,
    prompts: pd.DataFrame,
    style_pairs: pd.DataFrame,
    reward: RankReward,
    settings: GrpoSettings,
    inputs_digest: str,
) -> str:
    """Digest of all that a checkpoint must agree with."""
    digest = hashlib.sha256(f"{file_digest(start)}\0{inputs_digest}".encode())
    for frame in (prompts[["declaration", "prompt"]], style_pairs[["prompt", "query"]]):
        digest.update(frame.to_csv(index=False).encode())
    described = {"grpo": asdict(settings), "reward": asdict(reward.settings)}
    digest.update(json.dumps(described, sort_keys=True).encode())
    return digest.hexdigest()
