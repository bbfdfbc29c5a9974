#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times training steps of a GPT-2 in PyTorch on random tokens, and prints one JSON line: tokens_per_second and
median_step_seconds of the median step. Blocks normalise first, with biases, tanh's GELU and no dropout; the table of
tokens is the output layer too. A step is forward, backward, clipping to norm 1 and AdamW. Needs PyTorch 2.

  language_model.py                                       GPT-2 124M, one window of 1,024 tokens a step
  language_model.py --sequences 4 --precision bf16 --compile"""

import argparse
import statistics

import timing
import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.attention_norm, self.feed_forward_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.queries_keys_values, self.attended = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, x):
        sequences, length, width = x.shape
        split = self.queries_keys_values(x).view(sequences, length, 3, self.heads, width // self.heads)
        queries, keys, values = split.transpose(1, 3).unbind(2)
        heads = F.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        return self.attended(heads.transpose(1, 2).reshape(sequences, length, width))

    def forward(self, x):
        x = x + self.attend(self.attention_norm(x))
        return x + self.down(F.gelu(self.up(self.feed_forward_norm(x)), approximate="tanh"))


class LanguageModel(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.tokens = nn.Embedding(options.vocabulary, options.width)
        self.positions = nn.Parameter(torch.empty(options.context, options.width))
        self.blocks = nn.Sequential(*(Block(options.width, options.heads) for _ in range(options.layers)))
        self.norm = nn.LayerNorm(options.width)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, inputs, targets):
        hidden = self.norm(self.blocks(self.tokens(inputs) + self.positions))
        return F.cross_entropy(F.linear(hidden.flatten(0, 1), self.tokens.weight), targets.flatten())


def trainer(model, options):
    forward = torch.compile(model) if options.compile else model
    return timing.trainer(forward, torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True), options, clip=1.0)


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default, meaning in (("layers", 12, "blocks"), ("width", 768, "features of a token"),
                                   ("heads", 12, "of attention"), ("vocabulary", 50304, "tokens"),
                                   ("context", 1024, "tokens of a window"), ("sequences", 1, "windows of a step")):
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
