#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes ct2_golden.json beside this script: the variables that CTranslate2's own specifications have for small models.

    python make_ct2_golden.py        needs ctranslate2, numpy and torch

Each case is a model of ct2_export_test.cpp, by the same name. Its attributes have a type and a value, its tensors a name
alone, since the specifications leave their sizes open; tensors that are equal become aliases, as a converter makes them.
"""

import json
import pathlib

import ctranslate2
import numpy
from ctranslate2.specs import attention_spec, common_spec, model_spec, transformer_spec

Activation = common_spec.Activation
Decoder, Encoder = transformer_spec.TransformerDecoderSpec, transformer_spec.TransformerEncoderSpec


def gpt2():
    decoder = Decoder(1, 2, activation=Activation.GELUTanh, with_encoder_attention=False)
    decoder.scale_embeddings = False
    return transformer_spec.TransformerDecoderModelSpec(decoder), dict(biases=True, tied=[tables(decoder)])


def llama():
    """With the angles of Llama 3, whose factor the library reads although the package declares no variable for it."""
    decoder = Decoder(2, 4, activation=Activation.SWISH, with_encoder_attention=False, ffn_glu=True, rms_norm=True,
                      rotary_dim=0, rotary_interleave=False, rotary_scaling_type=attention_spec.RotaryScalingType.Llama3,
                      rotary_base=500000, original_max_position_embeddings=32, num_heads_kv=2, head_dim=4, qk_norm=True)
    decoder.scale_embeddings = False
    for layer in decoder.layer:
        layer.self_attention.rotary_low_freq_factor = 1.0
        layer.self_attention.rotary_high_freq_factor = 4.0
    return transformer_spec.TransformerDecoderModelSpec(decoder), dict(biases=False, tied=[])


def translation(pre_norm):
    """Encoder and decoder as MarianMT and fairseq have them: one table for all, or one for each of three uses."""
    encoder = Encoder(2, 2, pre_norm=pre_norm, activation=Activation.RELU)
    decoder = Decoder(1, 2, pre_norm=pre_norm, activation=Activation.RELU)
    tied = [[(encoder.position_encodings, "encodings"), (decoder.position_encodings, "encodings")]]
    if not pre_norm:
        tied.append([(encoder.embeddings[0], "weight"), *tables(decoder)])
    return transformer_spec.TransformerSpec(encoder, decoder), dict(biases=True, tied=tied)


def tables(decoder):
    return [(decoder.embeddings, "weight"), (decoder.projection, "weight")]


def fill(spec, biases, tied):
    """Gives each variable that is not set a tensor of its own, but one to those that are tied."""
    count = 0

    def new():
        nonlocal count
        count += 1
        return numpy.full((2, 2), count, dtype=numpy.float32)

    def visit(layer, scope, value):
        attribute = scope.rsplit("/", 1)[-1]
        projects = "projection" in scope  # logits have no bias in these models
        if isinstance(layer, common_spec.LinearSpec) and attribute == "bias" and biases and not projects:
            value = None
        if value is None or attribute == "encodings":
            setattr(layer, attribute, new())

    model_spec.visit_spec(spec, visit)
    for same in tied:
        tensor = new()
        for layer, attribute in same:
            setattr(layer, attribute, tensor)


def described(spec, options):
    fill(spec, **options)
    model_spec.LayerSpec.validate(spec)  # that of the model itself wants a vocabulary
    spec.optimize()
    found = {"specification": spec.name, "revision": spec.revision, "attributes": {}, "tensors": [], "aliases": {}}
    for name, value in spec.variables(ordered=True):
        if isinstance(value, str):
            found["aliases"][name] = value
        elif value.is_scalar():
            found["attributes"][name] = [value.dtype, value.numpy().item()]
        else:
            found["tensors"].append(name)
    return found


def main():
    cases = {"gpt2": gpt2(), "llama": llama(), "marian": translation(pre_norm=False),
             "pre-norm": translation(pre_norm=True)}
    golden = {"ctranslate2": ctranslate2.__version__,
              "cases": {name: described(*case) for name, case in cases.items()}}
    path = pathlib.Path(__file__).parent / "ct2_golden.json"
    path.write_text(json.dumps(golden, indent=None) + "\n")


if __name__ == "__main__":
    main()
