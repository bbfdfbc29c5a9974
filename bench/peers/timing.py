# SPDX-License-Identifier: Apache-2.0
"""What the PyTorch models of this folder share: options, precision, a training step, and the clock around it."""

import contextlib
import json
import resource
import time

import torch


def add_options(parser, steps, warmup):
    parser.add_argument("--steps", type=int, default=steps, help="measured steps (%(default)s)")
    parser.add_argument("--warmup", type=int, default=warmup, help="steps before them, not measured (%(default)s)")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="of the processor (%(default)s)")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32",
                        help="bf16: products under autocast, weights in fp32 (%(default)s)")
    parser.add_argument("--compile", action="store_true", help="through torch.compile")
    parser.add_argument("--device", default="cpu", help="cpu or cuda (%(default)s)")


def prepare(options):
    """Before anything is computed. The weights are the same in every run."""
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)


def precision(options):
    """Around the forward pass."""
    if options.precision == "fp32":
        return contextlib.nullcontext()
    return torch.autocast(options.device, dtype=torch.bfloat16)


def trainer(forward, optimizer, options, clip=None):
    """A function that trains one step and returns its loss; `clip` is the largest norm that the gradient may keep."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]

    def step(batch):
        with precision(options):
            loss = forward(*batch)
        loss.backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(parameters, clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    return step


def run(step, batches, options):
    """Seconds of each measured step, and the last loss. step(batch) trains on a batch and returns its loss; reading it
    waits for the device."""
    seconds, loss = [], None
    for batch in batches:
        begin = time.perf_counter()
        loss = step(batch).item()
        seconds.append(time.perf_counter() - begin)
    return seconds[options.warmup:], loss


def report(options, model, loss, **figures):
    """The line that compare.py reads."""
    parameters = sum(parameter.numel() for parameter in model.parameters())
    print(json.dumps({**figures, "parameters": parameters, "precision": options.precision, "compiled": options.compile,
                      "loss": round(loss, 4), "torch": torch.__version__,
                      "peak_process_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))
