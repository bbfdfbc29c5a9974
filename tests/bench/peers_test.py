#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What bench/peers/language_model.py computes with its blocks, by formulas that are written out; needs PyTorch."""

import argparse
import os
import sys
import unittest

import torch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench", "peers"))
sys.dont_write_bytecode = True
import attention  # noqa: E402
import language_model  # noqa: E402


def by_mask(queries, keys, values, window):
    """softmax(q k / sqrt(features)) v over the keys that a token sees."""
    length = queries.shape[2]
    distance = torch.arange(length)[:, None] - torch.arange(length)
    unseen = (distance < 0) | (distance >= (window or length))
    scores = queries @ keys.transpose(2, 3) / queries.shape[3] ** 0.5
    return scores.masked_fill(unseen, -torch.inf).softmax(-1) @ values


def options(**changes):
    return argparse.Namespace(**{**dict(blocks="llama", layers=2, width=32, heads=4, ffn=0, vocabulary=50, context=24,
                                        window=0), **changes})


class Peers(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        torch.set_num_threads(1)

    def test_a_window_is_seen_however_it_is_computed(self):
        for length, window in ((24, 0), (24, 1), (24, 5), (24, 8), (24, 20), (24, 24), (23, 7), (256, 100), (256, 200)):
            parts = [torch.randn(2, 3, length, 8, dtype=torch.float64, requires_grad=True) for _ in range(3)]
            out, expected = attention.causal(*parts, window), by_mask(*parts, window)
            torch.testing.assert_close(out, expected)
            direction = torch.randn_like(out)
            for a, b in zip(torch.autograd.grad(out, parts, direction), torch.autograd.grad(expected, parts, direction)):
                torch.testing.assert_close(a, b)

    def test_rotary_positions_are_products_of_complex_numbers(self):
        x = torch.randn(2, 3, 24, 8)
        angles = torch.outer(torch.arange(24.0), 500000.0 ** (-torch.arange(4) / 4))
        turned = torch.complex(*x.chunk(2, -1)) * torch.polar(torch.ones_like(angles), angles)
        torch.testing.assert_close(attention.Rotary(24, 8, 500000).turn(x), torch.cat((turned.real, turned.imag), -1))

    def test_llama_has_its_parameters(self):
        hidden = 256  # 8/3 of 32, up to a multiple of 256
        model = language_model.LanguageModel(options())
        self.assertEqual(sum(p.numel() for p in model.parameters()), 2 * (4 * 32**2 + 3 * 32 * hidden + 2 * 32) + 32 + 50 * 32)
        with torch.device("meta"):
            model = language_model.LanguageModel(options(layers=12, width=768, heads=12, vocabulary=50257))
        self.assertEqual(sum(p.numel() for p in model.parameters()), 123_551_232)  # configs/llama/124m.yaml

    def test_llamas_blocks_are_its_formulas(self):
        model = language_model.LanguageModel(options())
        for gain in (p for p in model.parameters() if p.dim() == 1):
            torch.nn.init.normal_(gain, 1, 0.1)
        ids = torch.randint(50, (3, 24))

        def norm(x, gain):
            return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * gain

        x = model.tokens.weight[ids]
        for block in model.blocks:
            packed = (norm(x, block.attention_gain) @ block.queries_keys_values.weight.T).view(3, 24, 3, 4, 8)
            queries, keys, values = packed.permute(2, 0, 3, 1, 4)
            attended = by_mask(model.rotary.turn(queries), model.rotary.turn(keys), values, 0)
            x = x + attended.transpose(1, 2).reshape(3, 24, 32) @ block.attended.weight.T
            gates, up = (norm(x, block.feed_forward_gain) @ block.gates_up.weight.T).split(256, -1)
            x = x + (gates * gates.sigmoid() * up) @ block.down.weight.T
        torch.testing.assert_close(model.hidden(ids), norm(x, model.gain))

    def test_blocks_of_gpt2_are_causal(self):
        model = language_model.LanguageModel(options(blocks="gpt2"))
        torch.nn.init.normal_(model.positions)
        ids = torch.randint(50, (1, 24))
        changed = ids.clone()
        changed[0, 12] = (ids[0, 12] + 1) % 50
        a, b = model.hidden(ids), model.hidden(changed)
        torch.testing.assert_close(a[:, :12], b[:, :12])
        self.assertFalse(torch.allclose(a[:, 12:], b[:, 12:]))


if __name__ == "__main__":
    unittest.main()
