# SPDX-License-Identifier: Apache-2.0
"""What comparisons with models of transformers have in common: tensors in files, attention, texts."""
import pathlib

import numpy
import torch
from safetensors import safe_open

TEXTS = ["Hello world", "In a village of La Mancha, the name of which I have no desire to call to mind,", "it's  2024\n\n\n",
         "Où est le café? \U0001f600 中文 ÀÉ", " \t leading and trailing  ", "a" * 300, "I'LL'VE 12345678 x²½"]


def tensors(directory):
    found = {}
    for file in sorted(pathlib.Path(directory).glob("*.safetensors")):
        with safe_open(file, "pt") as opened:
            for key in opened.keys():
                found[key] = opened.get_tensor(key)
    return found


def bits(tensor):
    return tensor.view(torch.int16 if tensor.dtype == torch.bfloat16 else torch.int32)


def hold_tensors(bench, name, before, after):
    """Compares every bit; weft has fp32 of tensors in fp16."""
    before, after = tensors(before), tensors(after)
    before = {key: tensor.float() if tensor.dtype == torch.float16 else tensor for key, tensor in before.items()}
    different = [k for k in before.keys() | after.keys()
                 if k not in before or k not in after or before[k].dtype != after[k].dtype
                 or not torch.equal(bits(before[k]), bits(after[k]))]
    bench.hold(name, "tensors that differ after the round trip", len(different), 0)


def attention_difference(said, kind, theirs):
    """The largest difference between weights of one kind as weft said them and the attentions of transformers, which are
    [1, heads, queries, keys] a layer."""
    maps = [numpy.array(found["heads"]) for found in said["attention"] if found["kind"] == kind]
    assert [m.shape for m in maps] == [tuple(layer[0].shape) for layer in theirs], [m.shape for m in maps]
    return max(float(numpy.abs(ours - layer[0].numpy()).max()) for ours, layer in zip(maps, theirs))
