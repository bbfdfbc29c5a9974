#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares losses of weft's finetuning with those of transformers and peft; exit status 1 if one differs by more than 1e-4.

    finetuning_against_peft.py BUILD [--data DIR]

BUILD is the build folder with `weft`; DIR has gpt2/vocab.json, gpt2/merges.txt and text/tinyshakespeare.txt (default:
shared/data beside the sources). Needs torch, transformers and peft.

A small GPT-2 with random weights is saved by transformers and imported. Both programs then take 20 steps of AdamW on
the same windows of text: with all weights, with some frozen and others at different rates, and with adapters on every
product, whose A is weft's. Every step takes all windows, so that their order does not matter. The trained adapters are then
exported alone and loaded by peft: its logits are those of the merged model that transformers loads.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import peft
import torch
import transformers
from stored_tensors import stored_tensors
from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

CONTEXT, WINDOWS, STEPS, BOUND = 64, 8, 20, 1e-4
BETAS, DECAY, CLIP = (0.9, 0.95), 0.1, 1.0
RANK, ALPHA = 4, 8
PRODUCTS = {"attention.qkv": "attn.c_attn", "attention.output": "attn.c_proj", "ffn.up": "mlp.c_fc",
            "ffn.down": "mlp.c_proj"}
CASES = {
    "full": dict(rate=1e-3, sets=[]),
    "frozen, two rates": dict(rate=1e-3, freeze=["wte", "wpe", "h.0."], slow="h.2.mlp", sets=[
        "train.freeze=[decoder.embedding.*, decoder.0.*]",
        "optimizer.groups=[{match: [decoder.2.ffn.*], learning_rate_scale: 0.1, weight_decay: 0}]"]),
    "lora": dict(rate=1e-2, lora=True, sets=[f"lora={{rank: {RANK}, alpha: {ALPHA}, targets: [{', '.join(PRODUCTS)}]}}"]),
}


def weft(build, *words):
    done = subprocess.run([build / "weft", *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"weft {' '.join(map(str, words))}: {done.stderr}")


def our_losses(build, root, case, name):
    run = root / name.replace(" ", "-").replace(",", "")
    sets = [*case["sets"], f"schedule.learning_rate={case['rate']}"]
    first = run.with_name(run.name + "-first")
    for where, more in ((run, []), (first, ["train.max_steps=1", "schedule.learning_rate=1e-20"])):
        words = [word for text in [*sets, f"run_dir={where}", *more] for word in ("--set", text)]
        weft(build, "train", root / "job.yaml", *words)
    lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    return [line["loss"] for line in lines if line["event"] == "train"], first / "checkpoints/step-00000001"


def adapted(model, initial):
    weights = stored_tensors(initial)
    model = peft.get_peft_model(model, peft.LoraConfig(r=RANK, lora_alpha=ALPHA, lora_dropout=0, fan_in_fan_out=True,
                                                       target_modules=["c_attn", "c_proj", "c_fc"]))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_A" not in name:
                continue
            layer = name.split("transformer.h.")[1].split(".")[0]
            ours = next(o for o, theirs in PRODUCTS.items() if f".{theirs}." in name)
            parameter.copy_(weights[f"decoder.{layer}.{ours}.lora_a"])
    return model


def their_losses(directory, ids, case, initial):
    model = GPT2LMHeadModel.from_pretrained(directory, attn_implementation="eager")
    if case.get("lora"):
        model = adapted(model, initial)
    model.train()  # every dropout of the configuration is 0
    groups = {}
    for name, parameter in model.named_parameters():
        if any(part in name for part in case.get("freeze", [])):
            parameter.requires_grad = False
        if not parameter.requires_grad:
            continue
        slow = "slow" in case and case["slow"] in name
        decay = DECAY if parameter.dim() >= 2 and not slow else 0.0
        groups.setdefault((case["rate"] * (0.1 if slow else 1), decay), []).append(parameter)
    optimizer = torch.optim.AdamW([dict(params=p, lr=rate, weight_decay=decay) for (rate, decay), p in groups.items()],
                                  betas=BETAS, eps=1e-8)
    windows = torch.stack([ids[i * CONTEXT:(i + 1) * CONTEXT + 1] for i in range(WINDOWS)])
    losses = []
    for _ in range(STEPS):
        logits = model(windows[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p for group in groups.values() for p in group], CLIP)
        optimizer.step()
        losses.append(loss.item())
    return losses


def adapter_difference(build, root, ids):
    """Compares logits: the base with the exported adapters in peft, and the merged model in transformers."""
    run = root / "lora"
    weft(build, "export-hf", run, root / "adapter", "--adapter")
    weft(build, "merge", run, root / "merged")
    weft(build, "export-hf", root / "merged", root / "merged-hf")
    base = GPT2LMHeadModel.from_pretrained(root / "theirs").eval()
    window = ids[None, :CONTEXT]
    with torch.inference_mode():
        before = base(window).logits
        merged = GPT2LMHeadModel.from_pretrained(root / "merged-hf").eval()(window).logits
        adapted_logits = peft.PeftModel.from_pretrained(base, root / "adapter").eval()(window).logits
    assert (before - merged).abs().max() > 0.1, "the adapters learned nothing"
    return (adapted_logits - merged).abs().max().item()


def set_up(build, data, root):
    """The model as transformers saves it, imported; the job; the ids of its text."""
    torch.manual_seed(3)
    config = GPT2Config(n_layer=3, n_embd=96, n_head=4, n_positions=CONTEXT, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
    GPT2LMHeadModel(config).save_pretrained(root / "theirs")
    for name in ("vocab.json", "merges.txt"):
        shutil.copy(data / "gpt2" / name, root / "theirs")
    weft(build, "import-hf", root / "theirs", root / "ours")
    tokenizer = AutoTokenizer.from_pretrained(root / "theirs")
    text = tokenizer.decode(tokenizer((data / "text/tinyshakespeare.txt").read_text()[:4000]).input_ids[:CONTEXT * WINDOWS + 8])
    (root / "text.txt").write_text(text)
    (root / "job.yaml").write_text(f"""name: against
data: {{directory: {root}/data, document_delimiter: file, train: {{files: [{root}/text.txt]}}}}
batch: {{sequences: {WINDOWS}, shift_windows: false}}
optimizer: {{beta1: {BETAS[0]}, beta2: {BETAS[1]}, weight_decay: {DECAY}}}
schedule: {{kind: constant}}
train: {{init_from: {root}/ours, max_steps: {STEPS}, clip_norm: {CLIP}}}
log: {{every_steps: 1}}
""")
    weft(build, "prepare", root / "job.yaml")
    return torch.tensor(tokenizer(text).input_ids + [50256])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parents[3] / "shared/data")
    args = parser.parse_args()
    transformers.logging.set_verbosity_error()
    failed = False
    with tempfile.TemporaryDirectory(prefix="against-") as scratch:
        root, build = pathlib.Path(scratch), args.build.resolve()
        ids = set_up(build, args.data, root)
        assert (len(ids) - 1) // CONTEXT == WINDOWS, len(ids)
        for name, case in CASES.items():
            ours, initial = our_losses(build, root, case, name)
            theirs = their_losses(root / "theirs", ids, case, initial)
            assert len(ours) == len(theirs) == STEPS, (len(ours), len(theirs))
            apart = max(abs(a - b) for a, b in zip(ours, theirs))
            failed |= not apart <= BOUND
            print(f"{name:20} loss {theirs[0]:.5f} to {theirs[-1]:.5f}; weft's at most {apart:.2e} away"
                  f"{'' if apart <= BOUND else '   FAILED'}", flush=True)
        apart = adapter_difference(build, root, ids)
        failed |= not apart <= BOUND
        print(f"exported adapters    logits of peft at most {apart:.2e} from the merged model's", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
