#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times training steps of an encoder-decoder in PyTorch on random tokens in sentences of given lengths, and prints one
JSON line: tokens_per_second, target tokens of all steps over their time. As it stands it is Transformer-Tiny: blocks
normalise last and each stack once more, positions are learned, one table serves source, target and output; dropout
after branches and inside the feed-forward layer, none on attention. Batches are sentences of like length, padded; a
step is forward, backward with label smoothing, and Adam. Needs PyTorch 2.

LENGTHS has a line "SOURCE TARGET" for each pair: tokens, the end included, as `weft bench --lengths` takes it.

  translation_model.py lengths.txt
  translation_model.py lengths.txt --precision bf16 --compile"""

import argparse

import timing
import torch
from torch import nn
from torch.nn import functional as F

PADDING, START, FIRST = 1, 2, 4  # ids; words begin at FIRST
POSITIONS = 256  # positions that each side learns


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.queries, self.keys_values, self.output = (nn.Linear(width, n * width) for n in (1, 2, 1))

    def split(self, x, parts):
        """[sequences, length, parts x width] as so many of [sequences, heads, length, width of a head]."""
        return x.view(*x.shape[:2], parts, self.heads, -1).transpose(1, 3).unbind(2)

    def forward(self, x, seen, mask=None, causal=False):
        (queries,), (keys, values) = self.split(self.queries(x), 1), self.split(self.keys_values(seen), 2)
        heads = F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask, is_causal=causal)
        return self.output(heads.transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Of the encoder, or with attention to it one of the decoder."""

    def __init__(self, options, decoder):
        super().__init__()
        width = options.width
        self.own, self.other = Attention(width, options.heads), Attention(width, options.heads) if decoder else None
        self.up, self.down = nn.Linear(width, options.ffn), nn.Linear(options.ffn, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3 if decoder else 2))
        self.dropout = nn.Dropout(options.dropout)

    def forward(self, x, mask, encoded=None):
        own = self.own(x, x, causal=True) if self.other else self.own(x, x, mask)
        x = self.norms[0](x + self.dropout(own))
        if self.other:
            x = self.norms[1](x + self.dropout(self.other(x, encoded, mask)))
        return self.norms[-1](x + self.dropout(self.down(self.dropout(F.relu(self.up(x))))))


class TranslationModel(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.tokens = nn.Embedding(options.vocabulary, options.width, padding_idx=PADDING)
        self.positions = nn.Parameter(torch.randn(2, POSITIONS, options.width) * options.width**-0.5)
        self.encoder = nn.ModuleList(Block(options, decoder=False) for _ in range(options.layers))
        self.decoder = nn.ModuleList(Block(options, decoder=True) for _ in range(options.layers))
        self.norms = nn.ModuleList(nn.LayerNorm(options.width) for _ in range(2))
        nn.init.normal_(self.tokens.weight, std=options.width**-0.5)

    def embed(self, tokens, side):
        return self.tokens(tokens) * self.tokens.embedding_dim**0.5 + self.positions[side, :tokens.shape[1]]

    def forward(self, source, inputs, targets):
        mask = (source != PADDING)[:, None, None, :]  # visible positions; targets see no padding, which follows them
        encoded, decoded = self.embed(source, 0), self.embed(inputs, 1)
        for block in self.encoder:
            encoded = block(encoded, mask)
        encoded = self.norms[0](encoded)
        for block in self.decoder:
            decoded = block(decoded, mask, encoded)
        logits = F.linear(self.norms[1](decoded).flatten(0, 1), self.tokens.weight)
        return F.cross_entropy(logits, targets.flatten(), ignore_index=PADDING, label_smoothing=0.1)


def plan(lengths, budget):
    """Pairs of lengths in batches: sorted, each as large as its sentences times its longest stays in the budget."""
    batches, longest = [[]], 0
    for pair in sorted(lengths, key=lambda pair: (pair[1], pair[0])):
        longest = max(longest, *pair)
        if batches[-1] and (len(batches[-1]) + 1) * longest > budget:
            batches.append([])
            longest = max(pair)
        batches[-1].append(pair)
    return batches


def tensors(batch, options):
    """Random words, padded: source, inputs of the decoder, targets."""
    def side(lengths):
        tokens = torch.randint(FIRST, options.vocabulary, (len(lengths), max(lengths)))
        return tokens.masked_fill(torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None], PADDING)

    source, targets = (side(lengths) for lengths in zip(*batch))
    inputs = torch.cat([torch.full((len(batch), 1), START), targets[:, :-1]], dim=1)
    return tuple(part.to(options.device) for part in (source, inputs, targets))


def trainer(model, options):
    forward = torch.compile(model, dynamic=True) if options.compile else model
    return timing.trainer(forward, torch.optim.Adam(model.parameters(), lr=5e-4, fused=True), options)


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("lengths", metavar="LENGTHS")
    for name, default, meaning in (("layers", 4, "blocks of each side"), ("width", 128, "features of a token"),
                                   ("ffn", 256, "features inside the feed-forward layer"), ("heads", 4, "of attention"),
                                   ("vocabulary", 9712, "tokens"), ("budget", 4096, "tokens of a batch, padding included")):
        p.add_argument("--" + name, type=int, default=default, help=f"{meaning} (%(default)s)")
    p.add_argument("--dropout", type=float, default=0.3, help="(%(default)s)")
    timing.add_options(p, steps=60, warmup=8)
    return p.parse_args()


def main():
    options = parse()
    timing.prepare(options)
    with open(options.lengths, encoding="ascii") as lines:
        batches = plan([tuple(map(int, line.split())) for line in lines], options.budget)
    order = torch.randperm(len(batches), generator=torch.Generator().manual_seed(2)).tolist()
    chosen = [batches[order[i % len(order)]] for i in range(options.warmup + options.steps)]
    model = TranslationModel(options).to(options.device)
    seconds, loss = timing.run(trainer(model, options), [tensors(batch, options) for batch in chosen], options)
    targets = sum(pair[1] for batch in chosen[options.warmup:] for pair in batch)
    timing.report(options, model, loss, tokens_per_second=round(targets / sum(seconds), 1), batches=len(batches),
                  mean_step_seconds=round(sum(seconds) / options.steps, 5))


if __name__ == "__main__":
    main()
