#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes gpt2_golden.json beside this script: logits, weights of attention and ids that Hugging Face's GPT-2 gives for
small models.

    python make_gpt2_golden.py        needs torch, transformers and tokenizers

Weights are not stored: both sides make them by one formula (value() here, golden_weight() in fixture/gpt2.h), exact in
fp32 and in bf16.
"""

import json
import pathlib

import torch
import transformers
from transformers import GPT2Config, GPT2LMHeadModel, GPT2Tokenizer

MERGES = ["Ġ t", "h e", "Ġt he", "i n", "Ġ a", "o u", "Ġ s", "e r", "Ġ c", "Ġc at", "a t"]
MERGES.sort(key=lambda merge: merge == "Ġc at")  # "at" must exist first
TEXT = "The cat sat in the house; the other cat's here.\n  Où? \U0001f600"
CASES = {
    "tied, gelu_new": dict(activation_function="gelu_new"),
    "untied, relu, n_inner": dict(activation_function="relu", n_inner=24, tie_word_embeddings=False, n_head=4),
    "gelu, epsilon": dict(activation_function="gelu", layer_norm_epsilon=1e-3, n_layer=1),
}
POSITIONS = [0, 6, 11]  # the positions whose logits are stored


def fnv1a(text):
    h = 2166136261
    for byte in text.encode():
        h = (h ^ byte) * 16777619 % 2**32
    return h


def value(name, index):
    """One of 256 values, by name and place: from [-1/4, 1/4); a norm's weights are half ones and half from [1/2, 3/2)."""
    byte = ((fnv1a(name) + index * 2654435761) % 2**32) >> 24
    x = (byte - 128) / 128
    if (".ln_" in name or "norm." in name) and name.endswith("weight"):
        return 1 + x / 2 if byte % 2 == 0 else 1.0
    return x / 4


def visible_bytes():
    plain = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    shown, following = {}, 256
    for byte in range(256):
        shown[byte] = chr(byte) if byte in plain else chr(following)
        following += byte not in plain
    return [shown[byte] for byte in range(256)]


def rounded(numbers):
    return [float(f"{x:.6g}") for x in numbers.tolist()]


def main():
    here = pathlib.Path(__file__).parent
    tokens = visible_bytes() + [merge.replace(" ", "") for merge in MERGES] + ["<|endoftext|>"]
    vocab = {token: i for i, token in enumerate(tokens)}
    tokenizer = GPT2Tokenizer(vocab=vocab, merges=[tuple(merge.split()) for merge in MERGES])
    ids = tokenizer(TEXT).input_ids
    golden = {"transformers": transformers.__version__, "merges": MERGES, "text": TEXT, "ids": ids,
              "positions": POSITIONS, "cases": {}}
    for name, options in CASES.items():
        config = GPT2Config(**{**dict(vocab_size=len(tokens), n_positions=32, n_embd=16, n_layer=2, n_head=2,
                                      bos_token_id=len(tokens) - 1, eos_token_id=len(tokens) - 1), **options})
        model = GPT2LMHeadModel(config).eval()
        model.set_attn_implementation("eager")  # others do not tell their weights
        with torch.no_grad():
            for key, tensor in model.state_dict().items():
                flat = [value(key, i) for i in range(tensor.numel())]
                if key == "lm_head.weight" and config.tie_word_embeddings:
                    continue
                tensor.copy_(torch.tensor(flat).view(tensor.shape))
            said = model(torch.tensor([ids[:max(POSITIONS) + 1]]), output_attentions=True)
        golden["cases"][name] = {"config": {k: v for k, v in config.to_dict().items() if v is not None},
                                 "logits": [rounded(said.logits[0, p]) for p in POSITIONS],
                                 # [layer][head], rows one after another
                                 "attention": [[rounded(head.flatten()) for head in layer[0]] for layer in said.attentions]}
    (here / "gpt2_golden.json").write_text(json.dumps(golden, ensure_ascii=True, indent=None) + "\n")


if __name__ == "__main__":
    main()
