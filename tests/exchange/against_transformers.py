#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares weft's models with Hugging Face's, imported and exported; exit status 1 if a figure is beyond its bound.

    against_transformers.py BUILD [CASE ...] [--trained CHECKPOINT] [--data DIR] [--json FILE]

BUILD is the build folder with `weft` and `tests/exchange/model_says`; DIR has gpt2/vocab.json, gpt2/merges.txt and
text/*.txt (default: shared/data beside the sources). Needs torch, transformers, tokenizers and safetensors.

In each case, a model of transformers with random weights is saved, imported and exported again. Compared are the
logits after each token (1e-4; of Llama and the like 1e-5 of the largest), every bit of every tensor, the logits of the
export as transformers loads it (0), the ids of both tokenizers, the weights of all attention (1e-5), and the memory of the
import beside the file's size (1.2 x).
`perplexity` compares that of one text (1e-4 relative), `tokenizers` the ids of tokenizers that weft learned, `marian` the
greedy and beam texts of a translation model that weft trains, its attention, and all tensors after it is imported and exported
again; `marian_import` compares what the cases above do, and greedy texts, of MarianMTs with MarianTokenizer (and needs
sentencepiece). --trained compares the logits of a model that weft trained, on a text that it samples.
"""

import argparse
import json
import math
import pathlib
import random
import shutil
import subprocess
import sys

import numpy
import torch
import transformers
from comparison import SOURCES, Bench
from marian_cases import marian, marian_import
from stored_models import TEXTS, attention_difference, hold_tensors
from transformers import AutoModelForCausalLM, AutoTokenizer

SMALL = dict(n_layer=3, n_embd=96, n_head=4, n_positions=128)
CASES = {
    "small": dict(config=SMALL),
    "bf16": dict(config=SMALL, dtype=torch.bfloat16),
    "relu, n_inner, untied": dict(config=dict(SMALL, activation_function="relu", n_inner=200,
                                              tie_word_embeddings=False)),
    "gelu, epsilon, one head": dict(config=dict(SMALL, activation_function="gelu", layer_norm_epsilon=1e-3, n_head=1)),
    "large weights": dict(config=dict(SMALL, initializer_range=0.2)),
    "shards": dict(config=SMALL, save=dict(max_shard_size="1MB")),
    "124M": dict(config={}, memory=True),
    "774M": dict(config=dict(n_layer=36, n_embd=1280, n_head=20), memory=True),
    "124M, shards, bf16": dict(config={}, dtype=torch.bfloat16, save=dict(max_shard_size="60MB"), memory=True),
}
# Families like Llama, in three layers, whose weights are large enough to tell a turn, a norm or a window from another.
LIKE_LLAMA = dict(vocab_size=50257, hidden_size=96, intermediate_size=160, num_hidden_layers=3, num_attention_heads=6,
                  num_key_value_heads=2, max_position_embeddings=128, initializer_range=0.1, bos_token_id=50256,
                  eos_token_id=50256, pad_token_id=None)
LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=32)
CASES |= {name: dict(family=family, config=dict(LIKE_LLAMA, **config), **options) for name, family, config, options in [
    ("llama", "Llama", dict(), {}),
    ("llama, bf16", "Llama", dict(), dict(dtype=torch.bfloat16)),
    ("llama 3", "Llama", dict(rope_theta=5e5, rope_scaling=LLAMA3, tie_word_embeddings=True), {}),
    ("llama, biases, linear", "Llama", dict(attention_bias=True, mlp_bias=True, head_dim=32,
                                            rope_scaling=dict(rope_type="linear", factor=2.0)), {}),
    ("mistral", "Mistral", dict(sliding_window=7), {}),
    ("qwen 2", "Qwen2", dict(use_sliding_window=True, sliding_window=9, max_window_layers=2), {}),
    ("qwen 3", "Qwen3", dict(head_dim=24, tie_word_embeddings=True), {}),
    ("olmo 2", "Olmo2", dict(), {}),
]}
# The same families in widths that were published, two layers of each.
WIDE = [("llama, as 3.2 1B", "Llama", 2048, 8192, 32, 8, dict(tie_word_embeddings=True, rope_theta=5e5, rope_scaling=LLAMA3)),
        ("mistral, as 7B", "Mistral", 4096, 14336, 32, 8, dict(sliding_window=31)),
        ("qwen 2, as 0.5B", "Qwen2", 896, 4864, 14, 2, dict(tie_word_embeddings=True)),
        ("qwen 3, as 0.6B", "Qwen3", 1024, 3072, 16, 8, dict(head_dim=128, tie_word_embeddings=True)),
        ("olmo 2, as 1B", "Olmo2", 2048, 8192, 16, 16, {})]
CASES |= {name: dict(family=family, memory=True, config=dict(
    LIKE_LLAMA, hidden_size=width, intermediate_size=ffn, num_attention_heads=heads, num_key_value_heads=kv_heads,
    num_hidden_layers=2, initializer_range=0.02, **config)) for name, family, width, ffn, heads, kv_heads, config in WIDE}
PIECES = [" ", "  ", "\n", "\r\n", "\t", "'s", "'LL", "l", "L", "é", "ſ", "中", "1", "23", "½", "!", "_", "\u00a0", "\u3000",
          "\u0301", "\U0001f600", "the", "Cat", "'"]


def peak_of(command):
    """The most memory that a command used, in bytes: measured on a child of a small process, since a child begins with
    the memory of its parent."""
    code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10)")
    out = subprocess.run([sys.executable, "-c", code, *map(str, command)], capture_output=True, text=True, check=True)
    return int(out.stdout.split()[-1])


def saved_model(bench, where, config, dtype=torch.float32, save=None, family="GPT2"):
    torch.manual_seed(3)
    head = "LMHeadModel" if family == "GPT2" else "ForCausalLM"
    model = getattr(transformers, family + head)(getattr(transformers, family + "Config")(**config)).to(dtype).eval()
    model.save_pretrained(where, **(save or {}))
    if family != "GPT2":
        tokenizer = transformers.GPT2Tokenizer.from_pretrained(bench.data / "gpt2")
        fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer.backend_tokenizer,
                                                    bos_token="<|endoftext|>", eos_token="<|endoftext|>")
        fast.save_pretrained(where)
        return model
    for name in ("vocab.json", "merges.txt"):
        shutil.copy(bench.data / "gpt2" / name, where)
    return model


def hold_logits(bench, name, checkpoint, model, ids, relative=None):
    """Compares the logits after each token, to 1e-4 or relative to the largest; returns the logits of `model`."""
    raw = bench.says(checkpoint, "logits", " ".join(map(str, ids.tolist())))
    ours = torch.from_numpy(numpy.frombuffer(raw, dtype=numpy.float32).reshape(len(ids), -1).copy())
    with torch.no_grad():
        logits = model(ids[None]).logits[0]
    largest = logits.abs().max().item()
    bound = relative * largest if relative else 1e-4
    bench.hold(name, f"logits differ (they reach {largest:.3g})", (ours - logits).abs().max().item(), bound)
    return logits


def gpt_attention(bench, name, checkpoint, directory):
    model = AutoModelForCausalLM.from_pretrained(directory, attn_implementation="eager").eval()
    differences = []
    for text in TEXTS[1:4]:
        said = json.loads(bench.weft("attention", text, "--checkpoint", checkpoint, "--json"))
        ids = torch.tensor([[token["id"] for token in said["text"]["tokens"]]])
        with torch.no_grad():
            differences.append(attention_difference(said, "decoder", model(ids, output_attentions=True).attentions))
    bench.hold(name, "attention differs", max(differences), 1e-5)


def trained(bench, checkpoint):
    root = bench.scratch / "trained"
    bench.weft("export-hf", checkpoint, root)
    model = AutoModelForCausalLM.from_pretrained(root).eval()
    text = bench.weft("generate", "--checkpoint", checkpoint, "--prompt", "The", "--max-tokens", "100", "--seed", "1")
    ids = torch.tensor(AutoTokenizer.from_pretrained(root)(text).input_ids)[:100]
    hold_logits(bench, f"trained, {len(ids)} tokens", checkpoint, model, ids)


def run_case(bench, name, config, dtype=torch.float32, save=None, memory=False, family="GPT2"):
    root = bench.scratch / "case"
    shutil.rmtree(root, ignore_errors=True)
    saved_model(bench, root / "theirs", config, dtype, save, family)
    command = [bench.build / "weft", "import-hf", root / "theirs", root / "ours"]
    if memory:
        files = sum(f.stat().st_size for f in (root / "theirs").glob("*.safetensors"))
        bench.hold(name, "memory of the import / size of the files", peak_of(command) / files, 1.2)
    else:
        bench.weft(*command[1:])
    ids = torch.randint(0, 50257, (48,), generator=torch.Generator().manual_seed(1))
    relative = None if family == "GPT2" else 1e-5
    # Loaded again, because a model that is cast has its angles rounded too.
    exact = AutoModelForCausalLM.from_pretrained(root / "theirs", dtype=torch.float32).eval()
    logits = hold_logits(bench, name, root / "ours", exact, ids, relative)
    bench.weft("export-hf", root / "ours", root / "again")
    hold_tensors(bench, name, root / "theirs", root / "again")
    assert AutoModelForCausalLM.from_pretrained(root / "again").dtype == dtype
    loaded = AutoModelForCausalLM.from_pretrained(root / "again", dtype=torch.float32).eval()
    with torch.no_grad():
        bench.hold(name, "logits of the export differ", (loaded(ids[None]).logits[0] - logits).abs().max().item(), 0)
    if not memory and dtype == torch.float32:
        gpt_attention(bench, name, root / "ours", root / "again")
    # AutoTokenizer takes every tokenizer beside a Qwen 2 for Qwen's own, whatever the files say.
    read = AutoTokenizer if family == "GPT2" else transformers.PreTrainedTokenizerFast
    theirs, again = read.from_pretrained(root / "theirs"), read.from_pretrained(root / "again")
    assert (again.eos_token, len(again)) == (theirs.eos_token, len(theirs)), again
    wrong = sum(not a == b == c for a, b, c in zip(bench.ids(root / "ours", TEXTS), theirs(TEXTS).input_ids,
                                                   again(TEXTS).input_ids))
    bench.hold(name, "texts with other ids", wrong, 0)


def perplexity(bench):
    """Compares the perplexity of a text by windows of all positions, each target predicted once."""
    root, context = bench.scratch / "perplexity", 128
    model = saved_model(bench, root / "theirs", dict(SMALL, initializer_range=0.1))
    text = (bench.data / "text/tinyshakespeare.txt").read_bytes()[:60000]
    (root / "text.txt").write_bytes(text)
    (root / "job.yaml").write_text(f"""name: perplexity
data: {{directory: {root}/data, format: text, document_delimiter: file,
       train: {{files: [{root}/text.txt]}}, test: {{files: [{root}/text.txt]}}}}
tokenizer: {{kind: gpt2, vocab_file: {root}/theirs/vocab.json, merges_file: {root}/theirs/merges.txt}}
model: {{max_length: {context}}}
batch: {{sequences: 1}}
train: {{max_steps: 1}}
""")
    bench.weft("import-hf", root / "theirs", root / "ours")
    bench.weft("prepare", root / "job.yaml")
    said = json.loads(bench.weft("evaluate", root / "job.yaml", "--checkpoint", root / "ours", "--json"))["perplexity"]
    ids = torch.tensor(AutoTokenizer.from_pretrained(root / "theirs")(text.decode()).input_ids + [50256])
    ids = ids[:said["tokens"] + 1]
    total = 0.0
    with torch.no_grad():
        for begin in range(0, len(ids) - 1, context):
            window = ids[begin:begin + context + 1]
            logits = model(window[None, :-1]).logits[0]
            total += torch.nn.functional.cross_entropy(logits.double(), window[1:], reduction="sum").item()
    theirs = math.exp(total / (len(ids) - 1))
    print(f"perplexity of {len(ids) - 1} tokens: weft {said['perplexity']}, transformers {theirs}")
    bench.hold("perplexity", "relative difference", abs(said["perplexity"] / theirs - 1), 1e-4)


def tokenizers(bench):
    """Compares tokenizers that weft learned and exported with a model that was trained for three steps."""
    rng = random.Random(5)
    texts = TEXTS + ["".join(rng.choice(PIECES) for _ in range(rng.randrange(30))) for _ in range(2000)]
    lines = (bench.data / "text/tinyshakespeare.txt").read_text().splitlines()[:4000]
    for pattern in ("gpt2", "gpt4", "gpt4-classic", "none"):
        root = bench.scratch / pattern
        root.mkdir()
        (root / "text.txt").write_text("\n".join(lines))
        (root / "job.yaml").write_text(f"""name: tokens
run_dir: {root}/run
data: {{directory: {root}/data, format: text, document_delimiter: {"line" if pattern == "none" else "file"},
       train: {{files: [{root}/text.txt]}}}}
tokenizer: {{kind: bpe, pattern: {pattern}, merges: 400, specials: ["<|endoftext|>"], bos: "<|endoftext|>",
            eos: "<|endoftext|>"}}
model: {{layers: 1, width: 16, heads: 2, max_length: 16}}
batch: {{sequences: 2}}
train: {{max_steps: 3}}
checkpoint: {{every_steps: 3}}
""")
        bench.weft("prepare", root / "job.yaml")
        bench.weft("train", root / "job.yaml")
        bench.weft("export-hf", root / "run", root / "out")
        ours = bench.ids(root / "run/checkpoints/step-00000003", texts)
        exported = AutoTokenizer.from_pretrained(root / "out")
        theirs = exported(texts).input_ids
        bench.hold(f"tokenizers: {pattern}", "texts with other ids", sum(a != b for a, b in zip(ours, theirs)), 0)
        back = sum(exported.decode(ids, clean_up_tokenization_spaces=False) != text for ids, text in zip(theirs, texts))
        bench.hold(f"tokenizers: {pattern}", "texts that come back otherwise", back, 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--data", type=pathlib.Path,
                        default=SOURCES.parent / "shared/data")
    parser.add_argument("--trained", metavar="CHECKPOINT")
    parser.add_argument("--json")
    parser.add_argument("cases", nargs="*")
    args = parser.parse_args()
    transformers.logging.set_verbosity_error()
    bench = Bench(args.build, args.data)
    try:
        for name, options in CASES.items():
            if not args.cases or name in args.cases:
                run_case(bench, name, **options)
        if args.trained:
            trained(bench, args.trained)
        for extra in (perplexity, tokenizers, marian, marian_import):
            if not args.cases or extra.__name__ in args.cases:
                extra(bench)
    finally:
        shutil.rmtree(bench.scratch, ignore_errors=True)
    bench.finish(args.json, (torch, transformers))


if __name__ == "__main__":
    main()
