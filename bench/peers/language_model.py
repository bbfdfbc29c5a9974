#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times training steps of a language model in PyTorch on random tokens, and prints one JSON line: tokens_per_second and
median_step_seconds of the median step. Blocks normalise first and drop nothing out; the table of tokens is the output
layer too. Those of GPT-2 have learned positions, LayerNorm, biases and tanh's GELU, those of Llama rotary positions,
RMSNorm, SwiGLU and no biases. A step is forward, backward, clipping to norm 1 and AdamW. Needs PyTorch 2.4.

  language_model.py                                       GPT-2 124M, one window of 1,024 tokens a step
  language_model.py --sequences 4 --precision bf16 --compile
  language_model.py --blocks llama --window 256           Llama's blocks; a token sees itself and 255 before it"""

import argparse
import statistics

import attention
import timing
import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    """GPT-2's."""

    def __init__(self, options):
        super().__init__()
        width, hidden = options.width, options.ffn or 4 * options.width
        self.heads, self.window = options.heads, options.window
        self.attention_norm, self.feed_forward_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.queries_keys_values, self.attended = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def attend(self, x):
        queries, keys, values = attention.heads(self.queries_keys_values(x), self.heads).unbind(2)
        return self.attended(attention.joined(attention.causal(queries, keys, values, self.window)))

    def forward(self, x):
        x = x + self.attend(self.attention_norm(x))
        return x + self.down(F.gelu(self.up(self.feed_forward_norm(x)), approximate="tanh"))


class LlamaBlock(nn.Module):
    """Llama's. One product gives the gates and what they gate. The cosines and sines are the same for all blocks."""

    def __init__(self, options, rotary):
        super().__init__()
        width, hidden = options.width, options.ffn or -(-8 * options.width // 768) * 256
        self.heads, self.window, self.rotary = options.heads, options.window, rotary
        self.attention_gain, self.feed_forward_gain = nn.Parameter(torch.ones(width)), nn.Parameter(torch.ones(width))
        self.queries_keys_values = nn.Linear(width, 3 * width, bias=False)
        self.attended = nn.Linear(width, width, bias=False)
        self.gates_up, self.down = nn.Linear(width, 2 * hidden, bias=False), nn.Linear(hidden, width, bias=False)

    def attend(self, x):
        split = attention.heads(self.queries_keys_values(x), self.heads)
        queries, keys = self.rotary.turn(split[:, :, :2]).unbind(2)
        return self.attended(attention.joined(attention.causal(queries, keys, split[:, :, 2], self.window)))

    def feed_forward(self, x):
        gates, up = self.gates_up(x).chunk(2, -1)
        return self.down(F.silu(gates) * up)

    def forward(self, x):
        x = x + self.attend(rms_norm(x, self.attention_gain))
        return x + self.feed_forward(rms_norm(x, self.feed_forward_gain))


def rms_norm(x, gain):
    return F.rms_norm(x, gain.shape, gain, 1e-5)


class LanguageModel(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.tokens = nn.Embedding(options.vocabulary, options.width)
        if options.blocks == "llama":
            self.rotary = attention.Rotary(options.context, options.width // options.heads, base=500000)
            self.blocks = nn.Sequential(*(LlamaBlock(options, self.rotary) for _ in range(options.layers)))
            self.gain = nn.Parameter(torch.ones(options.width))
        else:
            self.positions = nn.Parameter(torch.empty(options.context, options.width))
            self.blocks = nn.Sequential(*(Block(options) for _ in range(options.layers)))
            self.norm = nn.LayerNorm(options.width)
        self.llama = options.blocks == "llama"
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def hidden(self, inputs):
        if self.llama:
            return rms_norm(self.blocks(self.tokens(inputs)), self.gain)
        return self.norm(self.blocks(self.tokens(inputs) + self.positions))

    def forward(self, inputs, targets):
        return F.cross_entropy(F.linear(self.hidden(inputs).flatten(0, 1), self.tokens.weight), targets.flatten())


def trainer(model, options):
    forward = torch.compile(model) if options.compile else model
    return timing.trainer(forward, torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True), options, clip=1.0)


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--blocks", choices=("gpt2", "llama"), default="gpt2", help="(%(default)s)")
    for name, default, meaning in (("layers", 12, "blocks"), ("width", 768, "features of a token"),
                                   ("heads", 12, "of attention"),
                                   ("ffn", 0, "hidden features of the feed-forward layer; 0: 4 x width, of Llama's 8/3 x "
                                              "width up to a multiple of 256"),
                                   ("vocabulary", 50304, "tokens"), ("context", 1024, "tokens of a window"),
                                   ("window", 0, "tokens that one sees, itself included; 0: all before it"),
                                   ("sequences", 1, "windows of a step")):
        p.add_argument("--" + name, type=int, default=default, help=f"{meaning} (%(default)s)")
    timing.add_options(p, steps=5, warmup=2)
    return p.parse_args()


def main():
    options = parse()
    timing.prepare(options)
    model = LanguageModel(options).to(options.device)
    rows = torch.randint(options.vocabulary, (options.sequences, options.context + 1), device=options.device)
    batches = [(rows[:, :-1], rows[:, 1:])] * (options.warmup + options.steps)
    seconds, loss = timing.run(trainer(model, options), batches, options)
    median = statistics.median(seconds)
    timing.report(options, model, loss, tokens_per_second=round(options.sequences * options.context / median, 1),
                  median_step_seconds=round(median, 5))


if __name__ == "__main__":
    main()
