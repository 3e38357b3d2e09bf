"""`params.yaml` as typed objects: an unknown or wrongly typed key is refused by name, before anything runs.

Every number that changes a result is here; `conf/` says where each value comes from. Below the pipeline only plain
arguments and the domain packages' own settings travel, never these objects.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from lean_finder.errors import InputError

Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(gt=0)]
Natural = Annotated[int, Field(ge=0)]
Rate = Annotated[float, Field(gt=0)]


class Section(BaseModel):
    """A group of parameters: strict types, no unknown keys, read-only."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class DataParams(Section):
    library: str
    roots: list[str]
    benchmark: str
    style: str
    judge: str


class CorpusParams(Section):
    renderer: str
    strict: bool


class InformalizeParams(Section):
    enabled: bool
    base_url: str
    model: str
    key_variable: str
    concurrency: Positive
    max_output_tokens: Positive
    budget_tokens: Natural
    budget_money: Annotated[float, Field(ge=0)]
    prompt_price: Annotated[float, Field(ge=0)]
    output_price: Annotated[float, Field(ge=0)]
    max_dependencies: Natural
    dependency_chars: Positive
    statement_chars: Positive


class SplitParams(Section):
    validation_share: Annotated[float, Field(gt=0, lt=0.5)]
    min_gold_share: Share


class BenchmarkParams(Section):
    file: str
    shared: str
    rows: Literal[0, 810, 894, 946]


class ModelSource(Section):
    source: Literal["package", "folder", "hub", "tiny"]
    name: str
    path: str
    sha256: str


class ModelParams(Section):
    retriever: ModelSource
    generator: ModelSource


class ContractParams(Section):
    query_prefix: str
    document_prefix: str
    pooling: Literal["mean", "last"]
    padding_side: Literal["left", "right"]
    end_token: str
    normalise: bool
    max_query_tokens: Positive
    max_document_tokens: Positive


class LoraParams(Section):
    rank: Positive
    alpha: Positive
    targets: list[str]


class HardNegativeParams(Section):
    per_query: Positive
    first_rank: Positive
    last_rank: Positive
    margin: float
    documents: Natural

    @model_validator(mode="after")
    def _window_is_not_empty(self) -> HardNegativeParams:
        if self.first_rank > self.last_rank:
            raise ValueError(f"first_rank {self.first_rank} is above last_rank {self.last_rank}")
        return self


class RetrieverParams(Section):
    steps: Positive
    batch_size: Annotated[int, Field(ge=2)]
    micro_batch_tokens: Positive
    learning_rate: Rate
    warmup_share: Share
    weight_decay: Annotated[float, Field(ge=0)]
    temperature: Rate
    margin: float
    max_grad_norm: Rate
    bidirectional: bool
    matryoshka: list[Positive]
    dropout: Share
    bucket: Positive
    dtype: Literal["float32", "bfloat16"]
    gradient_checkpointing: bool
    lora: LoraParams | None
    hard_negatives: HardNegativeParams | None
    validate_every: Natural
    patience: Natural
    checkpoint_every: Natural


class RewardParams(Section):
    easy_rank: Positive
    full_rank: Positive
    lost_rank: Positive
    length_weight: Annotated[float, Field(ge=0)]
    length_start: Positive
    length_full: Positive


class SftParams(Section):
    steps: Positive
    batch_size: Positive
    learning_rate: Rate
    prompt_gradients: bool


class GrpoParams(Section):
    steps: Positive
    prompts_per_step: Positive
    group_size: Annotated[int, Field(ge=2)]
    learning_rate: Rate
    temperature: Rate
    top_p: Annotated[float, Field(gt=0, le=1)]
    beta: Annotated[float, Field(ge=0)]
    epsilon: Rate
    loss_type: str
    scale_rewards: str
    sft_start: Share
    sft_end: Share
    sft_schedule: Literal["linear", "cosine", "constant"]
    sft_batch_size: Positive
    prompt_gradients: bool
    gradient_accumulation: Positive
    probe_every: Natural
    probe_declarations: Positive
    probe_samples: Positive
    checkpoint_every: Natural
    sampler: Literal["transformers", "vllm_colocate", "vllm_server"]


class SamplingParams(Section):
    samples: Positive
    keep: Positive
    batch_size: Positive
    temperature: Rate
    top_p: Annotated[float, Field(gt=0, le=1)]


class GeneratorParams(Section):
    declarations: Natural
    max_prompt_tokens: Positive
    max_new_tokens: Positive
    lora: LoraParams
    sft: SftParams
    grpo: GrpoParams
    reward: RewardParams
    sampling: SamplingParams


class JudgeParams(Section):
    kind: Literal["encoder", "llm", "vote"]
    base_url: str
    model: str
    key_variable: str
    concurrency: Positive
    budget_tokens: Natural
    beta: Rate
    folds: Annotated[int, Field(ge=2)]


class ParaphraseParams(Section):
    views: list[str]


class ArmParams(Section):
    prev: str
    reward: Literal["both", "difficulty", "consistency"]
    generator: Literal["rl", "base", "sft", "reuse"]


class AuditParams(Section):
    contained_words: Positive
    truncated_share: Share
    near_similarity: Share
    near_statement: Share
    statement_tokens: Positive
    style_share: Share
    length_factor: Rate
    style_distance: Share
    meaning_false_alarms: Share
    meaning_sample: Positive
    meaning_least: Share
    meaning_texts: Natural


class IndexParams(Section):
    dtype: Literal["float32", "bfloat16"]


class EvaluationParams(Section):
    top_k: Annotated[int, Field(ge=100)]
    resamples: Positive
    allow_uncertified: bool


class RangeParams(Section):
    key: str
    low: float
    high: float
    log: bool


class ChoiceParams(Section):
    key: str
    choices: Annotated[list[bool | int | float | str], Field(min_length=2)]


class TuningParams(Section):
    trials: Positive
    workers: Positive
    arm: str
    documents: Natural
    declarations: Positive
    retriever: list[RangeParams | ChoiceParams]
    generator: list[RangeParams | ChoiceParams]


class Params(Section):
    """All of `params.yaml`."""

    scale: str
    seed: Natural
    threads: Natural
    data: DataParams
    corpus: CorpusParams
    informalize: InformalizeParams
    split: SplitParams
    benchmarks: dict[str, BenchmarkParams]
    models: ModelParams
    contract: ContractParams
    paraphrase: ParaphraseParams
    retriever: RetrieverParams
    index: IndexParams
    generator: GeneratorParams
    judge: JudgeParams
    audit: AuditParams
    evaluation: EvaluationParams
    tuning: TuningParams
    arms: dict[str, ArmParams]
    retrievers: list[str]
    final: str

    @model_validator(mode="after")
    def _arms_agree(self) -> Params:
        known = ["r0", *self.arms]
        if sorted(self.retrievers) != sorted(known):
            raise ValueError(f"retrievers must list exactly r0 and the keys of arms: {known}, not {self.retrievers}")
        for name, arm in self.arms.items():
            if arm.prev not in known or arm.prev == name:
                raise ValueError(f"arms.{name}.prev: {arm.prev!r} is not another of {known}")
        for key, value in (("final", self.final), ("tuning.arm", self.tuning.arm)):
            if value not in known:
                raise ValueError(f"{key}: {value!r} is not one of {known}")
        return self


def load_params(path: Path) -> Params:
    """Read and check the parameters.

    Raises:
        InputError: the file is missing or not YAML; or a key is unknown, missing or of the wrong type (all are named).
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise InputError(path, "no such file", "write it with: make params SCALE=cpu") from error
    except UnicodeDecodeError as error:
        raise InputError(path, "not UTF-8", "write it again with: make params SCALE=cpu") from error
    return parse_params(text, path)


def parse_params(text: str, where: object) -> Params:
    """Check the text of a parameter file; see `load_params`."""
    try:
        values = YAML(typ="safe").load(text)
        return Params.model_validate(values)
    except YAMLError as error:
        raise InputError(where, f"not YAML: {' '.join(str(error).split())}", "repair it, or: make params") from error
    except ValidationError as error:
        raise InputError(where, "; ".join(_complaint(item) for item in error.errors()), "see conf/") from error


def _complaint(item: Any) -> str:
    key = ".".join(str(part) for part in item["loc"])
    if item["type"] == "extra_forbidden":
        return f"unknown parameter {key}"
    if item["type"] == "missing":
        return f"missing parameter {key}"
    if not key:
        return str(item["msg"]).removeprefix("Value error, ")
    return f"parameter {key}: {item['msg']}, got {item['input']!r}"
