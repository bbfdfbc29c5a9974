#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes llama_golden.json beside this script: the logits that Llama, Mistral, Qwen 2, Qwen 3 and OLMo 2 of Hugging Face
give for small models, with their configuration and the names and shapes of their tensors.

    python make_llama_golden.py        needs torch and transformers

The weights are those of make_gpt2_golden.py's formula, the ids are those of its text.
"""

import json
import pathlib

import torch
import transformers

from make_gpt2_golden import POSITIONS, rounded, value

SMALL = dict(vocab_size=268, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=64, bos_token_id=267, eos_token_id=267)
LLAMA3 = dict(rope_type="llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=16)
CASES = {
    "llama": ("Llama", {}),
    "llama, tied, scaled as Llama 3": ("Llama", dict(tie_word_embeddings=True, rope_theta=5000.0, rope_scaling=LLAMA3)),
    "llama, biases, scaled linearly, wide heads": (
        "Llama", dict(attention_bias=True, mlp_bias=True, head_dim=6, rope_scaling=dict(rope_type="linear", factor=2.0))),
    "mistral, window": ("Mistral", dict(sliding_window=5)),
    "mistral, no window, gelu": ("Mistral", dict(sliding_window=None, hidden_act="gelu")),
    "qwen 2": ("Qwen2", dict(rms_norm_eps=1e-5)),
    "qwen 2, last layers slide": ("Qwen2", dict(num_hidden_layers=3, use_sliding_window=True, sliding_window=5,
                                                max_window_layers=1)),
    "qwen 3": ("Qwen3", dict(head_dim=8, tie_word_embeddings=True)),
    "qwen 3, layers slide in turn": ("Qwen3", dict(head_dim=8, use_sliding_window=True, sliding_window=4,
                                                   layer_types=["sliding_attention", "full_attention"])),
    "olmo 2": ("Olmo2", {}),
}


def main():
    here = pathlib.Path(__file__).parent
    ids = json.loads((here / "gpt2_golden.json").read_text())["ids"][:max(POSITIONS) + 1]
    golden = {"transformers": transformers.__version__, "cases": {}}
    for name, (family, options) in CASES.items():
        config = getattr(transformers, family + "Config")(**{**SMALL, **options})
        model = getattr(transformers, family + "ForCausalLM")(config).eval()
        tensors = {}
        with torch.no_grad():
            for key, tensor in model.state_dict().items():
                if key == "lm_head.weight" and config.tie_word_embeddings:
                    continue
                tensors[key] = list(tensor.shape)
                tensor.copy_(torch.tensor([value(key, i) for i in range(tensor.numel())]).view(tensor.shape))
            logits = model(torch.tensor([ids])).logits[0]
        golden["cases"][name] = {"config": {k: v for k, v in config.to_dict().items() if v is not None or "window" in k},
                                 "tensors": tensors, "logits": [rounded(logits[p]) for p in POSITIONS]}
    (here / "llama_golden.json").write_text(json.dumps(golden, ensure_ascii=True, indent=None) + "\n")


if __name__ == "__main__":
    main()
