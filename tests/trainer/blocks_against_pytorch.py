#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares losses and gradient norms of weft's blocks with those of plain PyTorch in float64, over 200 steps; exit status
1 if a case is too far away.

    blocks_against_pytorch.py BUILD [--cases NAME...]

BUILD is the build folder with `weft`. Needs torch and numpy.

Each case is a small GPT whose options are stated below, with the z-loss of some. Both programs begin at the weights that weft draws, take all
windows of one text at every step (so that their order does not matter), clip and update by AdamW. The model below is
written from the papers, with PyTorch's elementary operations alone. weft computes in float32: at step 100 its loss may be
1e-5 from that of float64, relative to it, and over all steps its loss and its norm no farther than twice as far as
PyTorch's own float32 is, or 1e-5.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import torch
from stored_tensors import stored_tensors
from torch.nn import functional as F

CONTEXT, WINDOWS, STEPS, BOUND = 48, 16, 200, 1e-5
BETAS, DECAY, CLIP, RATE = (0.9, 0.95), 0.1, 1.0, 1e-4
PLAIN = dict(layers=2, width=64, heads=4, ffn=96, max_length=CONTEXT, init_std=0.05)
LLAMA = dict(norm_kind="rms", norm_bias=False, bias=False, positions="rotary", activation="silu", gated=True)
CASES = {
    "gpt2": {},
    "llama": LLAMA,
    "llama 3.1, interleaved": LLAMA | dict(
        kv_heads=2, tying="none",
        rotary=dict(form="interleaved", base=500, scaling="llama3", factor=8, original_length=64)),
    "qwen 2, linear scaling": LLAMA | dict(qkv_bias=True, kv_heads=1, rotary=dict(scaling="linear", factor=4)),
    "qwen 3": LLAMA | dict(qk_norm="head", kv_heads=2, head_dim=24),
    "olmo 2": LLAMA | dict(qk_norm="width", norm_placement="branch"),
    "mistral, gpt-3's layers": LLAMA | dict(attention_windows=[16, 0]),
    "llama, z-loss": LLAMA | dict(z_loss=0.01),
    "geglu, post-norm": dict(activation="gelu", gated=True, norm_placement="post", final_norm=False),
    "cosine scores": dict(attention_score="cosine", norm_kind="rms", norm_bias=False),
    "plain scores, bilinear": dict(attention_score="plain", activation="none", gated=True, positions="rotary"),
}


def weft(build, *words):
    done = subprocess.run([build / "weft", *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"weft {' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


class Model:
    """A GPT by its options, as docs/architecture.md describes it; weights are float64 or float32."""

    def __init__(self, options, weights, dtype):
        self.o = dict(bias=True, norm_bias=True, norm_kind="layer", norm_placement="pre", final_norm=True, gated=False,
                      activation="gelu_tanh", positions="learned", qk_norm="none", attention_score="scaled",
                      tying="output", attention_windows=[0], norm_epsilon=1e-5, rotary={}, z_loss=0,
                      kv_heads=options["heads"], head_dim=options["width"] // options["heads"]) | options
        self.w = {name: value.to(dtype).requires_grad_() for name, value in weights.items()}
        self.dtype = dtype

    def norm(self, x, name):
        x = x - x.mean(-1, keepdim=True) if self.o["norm_kind"] == "layer" else x
        y = x / (x.square().mean(-1, keepdim=True) + self.o["norm_epsilon"]).sqrt() * self.w[f"{name}.weight"]
        return y + self.w[f"{name}.bias"] if f"{name}.bias" in self.w else y

    def product(self, x, name):
        weight = self.w[f"{name}.weight"].flatten(0, -2)
        y = x @ weight.T
        return y + self.w[f"{name}.bias"].flatten() if f"{name}.bias" in self.w else y

    def angles(self):
        rotary = dict(base=10000, scaling="none", factor=1, low_frequency_factor=1, high_frequency_factor=4) | self.o["rotary"]
        half = self.o["head_dim"] // 2
        angle = rotary["base"] ** (-torch.arange(half, dtype=torch.float64) / half)
        if rotary["scaling"] == "linear":
            angle = angle / rotary["factor"]
        elif rotary["scaling"] == "llama3":
            low, high = rotary["low_frequency_factor"], rotary["high_frequency_factor"]
            turns = rotary["original_length"] * angle / (2 * math.pi)
            smooth = (turns - low) / (high - low)
            mixed = (1 - smooth) * angle / rotary["factor"] + smooth * angle
            angle = torch.where(turns < low, angle / rotary["factor"], torch.where(turns > high, angle, mixed))
        return torch.outer(torch.arange(CONTEXT, dtype=torch.float64), angle)

    def turn(self, x):
        """x: [windows, positions, heads, head_dim]"""
        angle = self.angles()[:, None, :]
        turns = torch.polar(torch.ones_like(angle), angle).to(torch.complex128 if self.dtype == torch.float64 else torch.complex64)
        interleaved = self.o["rotary"].get("form") == "interleaved"
        pairs = x.unflatten(-1, (-1, 2)) if interleaved else x.unflatten(-1, (2, -1)).transpose(-1, -2)
        turned = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * turns)
        return turned.flatten(-2) if interleaved else turned.transpose(-1, -2).flatten(-2)

    def queries_and_keys(self, q, k, name):
        """q: [..., groups, queries, dim], k: [..., groups, 1, dim]"""
        for_heads = {"head": (-1,), "width": (-3, -2, -1)}.get(self.o["qk_norm"])
        if for_heads:
            def normed(x, gain):
                return x / (x.square().mean(for_heads, keepdim=True) + self.o["norm_epsilon"]).sqrt() * self.w[gain]
            q, k = normed(q, f"{name}.query_norm.weight"), normed(k, f"{name}.key_norm.weight")
        if self.o["positions"] == "rotary":
            q, k = (self.turn(x.flatten(2, 3)).unflatten(2, x.shape[2:4]) for x in (q, k))
        return q, k

    def attention(self, x, name, layer):
        groups, dim = self.o["kv_heads"], self.o["head_dim"]
        packed = self.product(x, f"{name}.qkv").unflatten(-1, (groups, -1, dim))
        q, k, v = packed[:, :, :, :-2], packed[:, :, :, -2:-1], packed[:, :, :, -1:]
        q, k = self.queries_and_keys(q, k, name)
        score = self.o["attention_score"]
        if score == "cosine":
            q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        scores = torch.einsum("wigqd,wjgkd->wgqij", q, k) * (dim ** -0.5 if score == "scaled" else 1)
        windows = self.o["attention_windows"]
        window = windows[layer % len(windows)] or CONTEXT
        ahead = torch.arange(CONTEXT)[:, None] - torch.arange(CONTEXT)
        weights = scores.masked_fill((ahead < 0) | (ahead >= window), -math.inf).softmax(-1)
        out = torch.einsum("wgqij,wjgkd->wigqd", weights, v).flatten(2)
        return self.product(out, f"{name}.output")

    def feed_forward(self, x, name):
        act = {"gelu_tanh": lambda y: F.gelu(y, approximate="tanh"), "gelu": F.gelu, "silu": lambda y: y * y.sigmoid(),
               "none": lambda y: y}[self.o["activation"]]
        up = self.product(x, f"{name}.up")
        if self.o["gated"]:
            gate, up = up.chunk(2, -1)
            return self.product(act(gate) * up, f"{name}.down")
        return self.product(act(up), f"{name}.down")

    def branch(self, x, body, name, *more):
        if self.o["norm_placement"] == "pre":
            return x + body(self.norm(x, f"{name}_norm"), name, *more)
        if self.o["norm_placement"] == "post":
            return self.norm(x + body(x, name, *more), f"{name}_norm")
        return x + self.norm(body(x, name, *more), f"{name}_norm")

    def loss(self, windows):
        x = self.w["decoder.embedding.tokens"][windows[:, :-1]]
        if self.o["positions"] == "learned":
            x = x + self.w["decoder.embedding.positions"][:CONTEXT]
        for layer in range(self.o["layers"]):
            x = self.branch(x, self.attention, f"decoder.{layer}.attention", layer)
            x = self.branch(x, self.feed_forward, f"decoder.{layer}.ffn")
        if self.o["final_norm"]:
            x = self.norm(x, "decoder.final_norm")
        output = self.w["decoder.embedding.tokens" if self.o["tying"] == "output" else "output.weight"]
        logits = (x @ output.T).flatten(0, 1)
        z_loss = self.o["z_loss"] * logits.logsumexp(-1).square().mean()
        return F.cross_entropy(logits, windows[:, 1:].flatten()) + z_loss


def their_steps(options, weights, windows, dtype):
    model = Model(PLAIN | options, weights, dtype)
    decays = {True: [], False: []}
    for name, parameter in model.w.items():
        decays[not name.endswith("bias") and "norm" not in name].append(parameter)
    optimizer = torch.optim.AdamW([dict(params=some, weight_decay=DECAY if decay else 0) for decay, some in decays.items()],
                                  lr=RATE, betas=BETAS, eps=1e-8)
    steps = []
    for _ in range(STEPS):
        loss = model.loss(windows)
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.w.values(), CLIP)
        optimizer.step()
        steps.append((loss.item(), norm.item()))
    return steps


def settings(options):
    """The options as --set takes them."""
    def text(value):
        if isinstance(value, dict):
            return "{" + ", ".join(f"{key}: {text(item)}" for key, item in value.items()) + "}"
        return str(value).lower()
    return [word for key, value in (PLAIN | options).items()
            for word in ("--set", f"{'train' if key == 'z_loss' else 'model'}.{key}={text(value)}")]


def our_steps(build, root, options, name):
    run = root / "".join(c if c.isalnum() else "-" for c in name)
    first = run.with_name(run.name + "-first")
    for where, more in ((run, []), (first, ["train.max_steps=1", "schedule.learning_rate=1e-20"])):
        words = [word for text in [f"run_dir={where}", *more] for word in ("--set", text)]
        weft(build, "train", root / "job.yaml", *settings(options), *words)
    lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    steps = [(line["loss"], line["grad_norm"]) for line in lines if line["event"] == "train"]
    return steps, stored_tensors(first / "checkpoints/step-00000001")


def set_up(build, root):
    """A text of so many characters that its windows fill it, and the job. Returns the windows."""
    alphabet, state, text = "abcdefghijklmnopqrstuvwxyz .,;", 7, "a"
    while len(text) < CONTEXT * WINDOWS + 1:  # each letter is one of four that may follow the one before
        state = (state * 1103515245 + 12345) % 2**31
        text += alphabet[(alphabet.index(text[-1]) * 7 + (state >> 20) % 4) % len(alphabet)]
    (root / "text.txt").write_text(text)
    (root / "job.yaml").write_text(f"""name: against
task: gpt
tokenizer: {{kind: chars}}
data: {{directory: {root}/data, document_delimiter: file, train: {{files: [{root}/text.txt]}}}}
batch: {{context_length: {CONTEXT}, sequences: {WINDOWS}, shift_windows: false}}
optimizer: {{beta1: {BETAS[0]}, beta2: {BETAS[1]}, weight_decay: {DECAY}}}
schedule: {{kind: constant, learning_rate: {RATE}}}
train: {{max_steps: {STEPS}, clip_norm: {CLIP}, precision: fp32}}
log: {{every_steps: 1}}
""")
    weft(build, "prepare", root / "job.yaml")
    ids = weft(build, "tokenize", "--tokenizer", root / "data", root / "text.txt").split()
    windows = [ids[i * CONTEXT:(i + 1) * CONTEXT + 1] for i in range(WINDOWS)]
    return torch.tensor([[int(token) for token in window] for window in windows])


def farthest(steps, exact):
    """The largest distances of losses and of norms, relative to them."""
    return [max(abs(a[i] - e[i]) / e[i] for a, e in zip(steps, exact)) for i in range(2)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES), metavar="NAME")
    args = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory(prefix="blocks-") as scratch:
        root, build = pathlib.Path(scratch), args.build.resolve()
        windows = set_up(build, root)
        for name in args.cases:
            ours, weights = our_steps(build, root, CASES[name], name)
            exact, single = (their_steps(CASES[name], weights, windows, dtype) for dtype in (torch.float64, torch.float32))
            at_100 = abs(ours[99][0] - exact[99][0]) / exact[99][0]
            mine, theirs = farthest(ours, exact), farthest(single, exact)
            bad = not (at_100 <= BOUND and all(m <= max(2 * t, BOUND) for m, t in zip(mine, theirs)))
            failed |= bad
            print(f"{name:24} loss {exact[0][0]:.4f} to {exact[-1][0]:.4f}; at step 100 {at_100:.1e} away; at most: loss "
                  f"{mine[0]:.1e} (PyTorch in float32 {theirs[0]:.1e}), norm {mine[1]:.1e} ({theirs[1]:.1e})"
                  f"{'   FAILED' if bad else ''}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
