# SPDX-License-Identifier: Apache-2.0
"""Causal attention of the language model: all tokens before one, or those of a window; rotary positions."""

import math

import torch
from torch import nn
from torch.nn import functional as F

BLOCK = 128  # queries: of 64, 128 and 256 the fastest for 1,024 tokens and windows of 256


def heads(packed, count):
    """[sequences, length, 3 width] as [sequences, heads, 3, length, features]: queries, keys, values."""
    sequences, length, width = packed.shape
    return packed.view(sequences, length, 3, count, width // (3 * count)).transpose(1, 3)


def joined(x):
    """[sequences, heads, length, features] as [sequences, length, width]."""
    return x.transpose(1, 2).flatten(2)


def causal(queries, keys, values, window=0):
    """Each token sees itself and those before it; with a window of w, itself and the w - 1 before it."""
    length = queries.shape[2]
    if not 0 < window < length:
        return F.scaled_dot_product_attention(queries, keys, values, is_causal=True)
    return in_blocks(queries, keys, values, window, block=math.gcd(length, BLOCK))


def in_blocks(queries, keys, values, window, block):
    """Blocks of queries, each of which sees its own keys and as many before them as the window has. So the products grow
    with length x window; those of a mask over the whole length grow with its square. (flex_attention has no backward
    pass on CPUs.)"""
    blocks = queries.shape[2] // block

    def with_those_before(x):
        return F.pad(x, (0, 0, window, 0)).unfold(2, window + block, block).transpose(-1, -2).flatten(0, 1)

    row, column = torch.arange(block)[:, None], torch.arange(window + block)
    near = (row < column) & (column <= row + window)
    exists = torch.arange(blocks)[:, None, None] * block + column >= window  # what was padded does not
    attended = F.scaled_dot_product_attention(
        queries.unflatten(2, (blocks, block)).flatten(0, 1), with_those_before(keys), with_those_before(values),
        attn_mask=(near & exists).to(queries.device))
    return attended.flatten(1, 2).unflatten(0, queries.shape[:2])


class Rotary(nn.Module):
    """Cosines and sines of the angles by which feature i and feature i + features / 2 of a head turn together."""

    def __init__(self, length, features, base):
        super().__init__()
        angles = torch.outer(torch.arange(length), base ** (-torch.arange(0, features, 2) / features))
        self.register_buffer("cosines", angles.cos(), persistent=False)
        self.register_buffer("sines", angles.sin(), persistent=False)

    def turn(self, x):
        """x: [..., length, features]"""
        first, second = x.chunk(2, -1)
        cosines, sines = self.cosines.to(x.dtype), self.sines.to(x.dtype)
        return torch.cat((first * cosines - second * sines, second * cosines + first * sines), -1)
