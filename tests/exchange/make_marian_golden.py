#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes marian_golden.json beside this script: the weights of attention that Hugging Face's MarianMT has in a small model.

    python make_marian_golden.py        needs torch and transformers

Weights are not stored: both sides make them by one formula from their names and places in weft (weight() here,
marian_weight() in marian_attention_test.cpp), exact in fp32.
"""

import json
import pathlib

import torch
import transformers
from make_gpt2_golden import rounded, value
from transformers import MarianConfig, MarianMTModel

WIDTH, HEADS = 8, 2
SOURCE, TEXT = [116, 104, 101, 32, 98, 111, 97, 116, 257], [256, 98, 229, 116, 101, 110]  # TEXT begins with the start token
# The name in weft; of a fused product, which part of how many.
BLOCK = {"self_attn.q_proj": ("attention.qkv", 0, 3), "self_attn.k_proj": ("attention.qkv", 1, 3),
         "self_attn.v_proj": ("attention.qkv", 2, 3), "self_attn.out_proj": ("attention.output",),
         "self_attn_layer_norm": ("attention_norm",), "encoder_attn.q_proj": ("cross.q", 0, 1),
         "encoder_attn.k_proj": ("cross.kv", 0, 2), "encoder_attn.v_proj": ("cross.kv", 1, 2),
         "encoder_attn.out_proj": ("cross.output",), "encoder_attn_layer_norm": ("cross_norm",),
         "fc1": ("ffn.up",), "fc2": ("ffn.down",), "final_layer_norm": ("ffn_norm",)}


def weight(name, place):
    """Weights of attention are four times as large, so that its softmax is far from even; those of a norm lie about 1."""
    x = value(name, place)
    if name.endswith("_norm.weight"):
        return 1 + x
    return 4 * x if name.endswith((".qkv.weight", ".q.weight", ".kv.weight")) else x


def fill(tensor, key):
    """One tensor of MarianMT by its name: model.STACK.layers.N.WHAT.KIND, or the table of tokens."""
    if key == "model.shared.weight":
        name, part, parts = "encoder.embedding.tokens", 0, 0
    else:
        _, stack, _, layer, rest = key.split(".", 4)
        what, kind = rest.rsplit(".", 1)
        ours, part, parts = (*BLOCK[what], 0, 0)[:3]
        name = f"{stack}.{layer}.{ours}.{kind}"
    of_head = WIDTH // HEADS
    columns = tensor.shape[1] if tensor.dim() == 2 else 1
    flat = torch.empty(tensor.numel())
    for i in range(tensor.numel()):
        row, column = divmod(i, columns)
        if parts:  # weft: (head, part, feature, in)
            row = (row // of_head * parts + part) * of_head + row % of_head
        flat[i] = weight(name, row * columns + column)
    tensor.copy_(flat.view(tensor.shape))


def main():
    config = MarianConfig(vocab_size=258, d_model=WIDTH, encoder_layers=2, decoder_layers=1, encoder_attention_heads=HEADS,
                          decoder_attention_heads=HEADS, encoder_ffn_dim=12, decoder_ffn_dim=12, max_position_embeddings=16,
                          activation_function="relu", scale_embedding=True, decoder_start_token_id=256, eos_token_id=257,
                          pad_token_id=256, forced_eos_token_id=None, static_position_embeddings=True)
    model = MarianMTModel(config).eval()
    model.set_attn_implementation("eager")  # others do not tell their weights
    with torch.no_grad():
        for key, tensor in model.state_dict().items():
            if key == "model.shared.weight" or ".layers." in key:
                fill(tensor, key)
        said = model(input_ids=torch.tensor([SOURCE]), attention_mask=torch.ones(1, len(SOURCE)),
                     decoder_input_ids=torch.tensor([TEXT]), output_attentions=True)
    maps = [{"kind": kind, "layer": n, "heads": [rounded(head.flatten()) for head in layer[0]]}
            for kind in ("encoder", "decoder", "cross") for n, layer in enumerate(said[f"{kind}_attentions"])]
    golden = {"transformers": transformers.__version__, "source": SOURCE, "text": TEXT, "attention": maps}
    path = pathlib.Path(__file__).parent / "marian_golden.json"
    path.write_text(json.dumps(golden, ensure_ascii=True, indent=None) + "\n")


if __name__ == "__main__":
    main()
