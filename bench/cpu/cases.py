# SPDX-License-Identifier: Apache-2.0
"""What is measured: for each case, weft's command and the peer's, with the same shapes and the same work."""

import gzip
import os

PEERS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "peers")

CASES = ("gpt2-124m", "llama-124m", "transformer-tiny", "char")
NOT_IN_0_1 = ("llama-124m",)  # models that weft 0.1.0 does not know by name
PRECISIONS = ("fp32", "bf16")
# Layers, width and heads; contexts have 1,024 tokens.
GPT2 = {"gpt2-124m": (12, 768, 12), "gpt2-350m": (24, 1024, 16), "gpt2-774m": (36, 1280, 20), "gpt2-1558m": (48, 1600, 25)}
GPT2_CONTEXT, GPT2_VOCABULARY = 1024, 50304  # padded to a multiple of 64, for PyTorch


class Case:
    """weft's arguments, and the peer's behind the name of its script; weft_rate names the figure that is like the peer's
    tokens_per_second."""

    def __init__(self, name, weft, peer, weft_rate, note):
        self.name, self.weft, self.peer, self.weft_rate, self.note = name, weft, peer, weft_rate, note
        self.may_use_ranks = not name.endswith("-124m")  # two ranks would need twice its memory


def peer_language_model(shape, vocabulary, steps, threads, blocks="gpt2"):
    """The peer's words for a language model: layers, width, heads, length of a window, windows a step."""
    layers, width, heads, length, batch = shape
    words = ["language_model.py", "--layers", layers, "--width", width, "--heads", heads, "--vocabulary", vocabulary,
             "--context", length, "--sequences", batch, "--steps", steps, "--threads", threads]
    words += [] if blocks == "gpt2" else ["--blocks", blocks]
    return [str(word) for word in words]


def language_model(name, shape, vocabulary, settings, options, note, blocks="gpt2"):
    batch = shape[-1]
    steps = options.steps or {"char": 60}.get(name, 3)
    weft = ["bench", "--model", name, "--vocabulary", str(vocabulary), "--steps", str(steps), "--warmup", "2",
            "--set", f"batch.sequences={batch}", *settings]
    peer = peer_language_model(shape, vocabulary, steps, options.threads, blocks)
    return Case(name, weft, peer, "median_tokens_per_second", note)


def gpt2(options, name="gpt2-124m", blocks="gpt2", note=""):
    batch = options.micro_batch
    shape = (*GPT2["gpt2-124m"], GPT2_CONTEXT, batch)
    note = f"{note}T 1,024, {batch} windows a step, vocabulary 50,304, clipping, AdamW; median step"
    return language_model(name, shape, GPT2_VOCABULARY, [], options, note, blocks)


def llama(options):
    """Llama's blocks in GPT-2's size: the same windows, vocabulary and update, so that the two cases compare."""
    return gpt2(options, "llama-124m", "llama", "Llama's blocks, ")


def char(options):
    settings = ["--set", "model.bias=true", "--set", "model.norm_bias=true", "--set", "model.activation=gelu_tanh"]
    return language_model("char", (4, 128, 4, 64, 12), 65, settings, options,
                          "4 blocks of width 128, 12 windows of 64, biases, clipping, AdamW; median step")


def transformer_tiny(options, scratch):
    """The peer drops out after branches and inside the feed-forward layer, learns positions and norms last."""
    texts = [find_text(options.data, side) for side in ("en", "de")]
    lengths = write_lengths(*texts, os.path.join(scratch, "lengths.txt"))
    steps = options.steps or 60
    weft = ["bench", "--model", "transformer-tiny", "--vocabulary", "9712", "--lengths", lengths,
            "--steps", str(steps), "--warmup", "8", "--set", "model.positions=learned", "--set", "model.final_norm=true",
            "--set", "model.dropout.embedding=0", "--set", "model.dropout.ffn=0.3"]
    peer = ["translation_model.py", lengths, "--steps", str(steps), "--threads", str(options.threads)]
    return Case("transformer-tiny", weft, peer, "tokens_per_second",
                "Multi30k's lengths, batches of 4,096 padded tokens, dropout 0.3, Adam; target tokens over all steps")


def make_case(name, options, scratch):
    if name == "transformer-tiny":
        return transformer_tiny(options, scratch)
    return {"gpt2-124m": gpt2, "llama-124m": llama, "char": char}[name](options)


def find_text(data, side):
    """Multi30k's tokenised training text, below the folder that holds corpora."""
    for folder in ("multi30k/tok", "multi30k", "."):
        for end in (".gz", ""):
            path = os.path.join(data, folder, f"train.lc.norm.tok.{side}{end}")
            if os.path.exists(path):
                return path
    raise SystemExit(f"{data} has no multi30k/tok/train.lc.norm.tok.{side}.gz: give --data, or leave transformer-tiny "
                     "out of --cases")


def read_text(path):
    return gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8")


def write_lengths(source, target, out):
    """Words and an end on both sides."""
    with read_text(source) as s, read_text(target) as t, open(out, "w", encoding="ascii") as lengths:
        for left, right in zip(s, t):
            lengths.write(f"{len(left.split()) + 1} {len(right.split()) + 1}\n")
    return out
