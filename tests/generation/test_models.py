"""Guards generator folders: making, loading, refusing, merging. Alone: pytest tests/generation/test_models.py"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

from lean_finder.errors import InputError
from lean_finder.generation.models import (
    LoraSettings,
    add_adapter,
    load_generator,
    make_tiny_generator,
    merged_adapter,
    save_generator,
    save_smollm2,
)
from lean_finder.storage import file_digest, read_json
from tests.generation.toy_library import library


def logits(model: torch.nn.Module) -> torch.Tensor:
    with torch.inference_mode():
        return model(input_ids=torch.tensor([[10, 20, 30]])).logits


def test_tiny_generator_is_fixed_by_its_seed(tiny_base: Path, tmp_path: Path) -> None:
    texts = [f"{item.name} {item.signature} {item.docstring}" for item in library()]
    make_tiny_generator(tmp_path / "same", 3, texts)
    make_tiny_generator(tmp_path / "other", 4, texts[:5])
    assert file_digest(tmp_path / "same") == file_digest(tiny_base) != file_digest(tmp_path / "other")


def test_tiny_generator_has_learned_its_texts(tiny_base: Path) -> None:
    generator = load_generator(tiny_base, tiny_base)
    text = "(hf : Continuous f) : Continuous (f + g) The sum of two functions each of which is continuous"
    ids = torch.tensor([generator.tokenizer(text)["input_ids"]])
    loss = generator.model(input_ids=ids, labels=ids).loss.item()
    assert loss < 2.0 < torch.log(torch.tensor(float(len(generator.tokenizer)))).item()


def test_tokenizer_gives_every_symbol_back(tiny_base: Path) -> None:
    tokenizer = load_generator(tiny_base, tiny_base).tokenizer
    text = "∀ ε > 0, ∃ δ : ℝ, ‖f x‖ ≤ 𝓝 →+* ⊔"
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_adapter_survives_saving_and_changes_nothing_at_first(tiny_base: Path, tmp_path: Path) -> None:
    base = load_generator(tiny_base, tiny_base)
    before = logits(base.model)
    adapted = add_adapter(base, LoraSettings(rank=4, first_layer=1), seed=1)
    assert torch.equal(logits(adapted.model), before)
    names = [name for name, parameter in adapted.model.named_parameters() if parameter.requires_grad]
    assert names and all("layers.1." in name for name in names)
    with torch.no_grad():
        for parameter in adapted.model.parameters():
            if parameter.requires_grad:
                parameter.add_(0.05)
    changed = logits(adapted.model)
    save_generator(adapted, "base", tmp_path / "adapter")
    again = load_generator(tmp_path / "adapter", tiny_base)
    assert torch.allclose(logits(again.model), changed, atol=1e-6) and not torch.allclose(changed, before, atol=1e-3)
    assert sorted(path.name for path in (tmp_path / "adapter").iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
    ]
    assert read_json(tmp_path / "adapter" / "adapter_config.json")["base_model_name_or_path"] == "base"


def test_merging_is_undone_to_the_last_bit(tiny_base: Path) -> None:
    generator = add_adapter(load_generator(tiny_base, tiny_base), LoraSettings(rank=4), seed=1)
    with torch.no_grad():
        for parameter in generator.model.parameters():
            if parameter.requires_grad:
                parameter.add_(0.03)
    weights = {name: value.clone() for name, value in generator.model.state_dict().items()}
    unmerged = logits(generator.model)
    with merged_adapter(generator.model) as model:
        assert torch.allclose(logits(model), unmerged, atol=1e-4)
    assert all(torch.equal(value, weights[name]) for name, value in generator.model.state_dict().items())
    assert torch.equal(logits(generator.model), unmerged)


def test_missing_and_broken_folders_are_refused(tiny_base: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a generator folder"):
        load_generator(tmp_path / "nowhere", tiny_base)
    broken = tmp_path / "broken"
    shutil.copytree(tiny_base, broken)
    weights = broken / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(InputError, match="cannot be loaded"):
        load_generator(broken, broken)
    save_generator(add_adapter(load_generator(tiny_base, tiny_base), LoraSettings(rank=2), 1), "base", tmp_path / "a")
    with pytest.raises(InputError, match=r"config\.json"):
        load_generator(tmp_path / "a", tmp_path / "no-base")


def test_broken_gguf_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        save_smollm2(tmp_path / "absent.gguf", tmp_path / "out")
    (tmp_path / "cut.gguf").write_bytes(b"GGUF\x03\x00\x00\x00")
    with pytest.raises(InputError, match="not a complete GGUF model"):
        save_smollm2(tmp_path / "cut.gguf", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_no_texts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no texts"):
        make_tiny_generator(tmp_path / "tiny", 1, ["", " "])
