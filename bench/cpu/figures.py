# SPDX-License-Identifier: Apache-2.0
"""Arithmetic on measured figures: medians, ratios, shares. No clock is read here."""

import statistics

# A slower variant of a peer stays in the comparison while it is this near to the fastest in the trial runs.
NEAR = 0.9


def median(values):
    return statistics.median(values) if values else None


def summary(values):
    """What a series of measurements comes to; None where nothing was measured."""
    known = [value for value in values if value is not None]
    return {"median": median(known), "min": min(known), "max": max(known), "count": len(known)} if known else None


def is_series(value):
    return isinstance(value, list) and bool(value) and all(item is None or isinstance(item, (int, float)) for item in value)


def condensed(value):
    """A result as git keeps it: of a series its summary, and nothing of what is under "runs", the whole output of each."""
    if is_series(value):
        return summary(value)
    if isinstance(value, list):
        return [condensed(item) for item in value]
    if isinstance(value, dict):
        return {key: condensed(member) for key, member in value.items() if key != "runs"}
    return value


# A case is slower if it loses more than this, and more than the spread of its pairs.
TOLERANCE = 0.02


def compare_pairs(case):
    """Adds what the pairs of two programs say to {"new": [rate, ...], "old": [rate, ...]}, rates of runs side by side:
    the ratios new / old, and whether the new program is slower: by more than 2 % and by more than the ratios' own
    spread, half of max - min."""
    ratios = [new / old for new, old in zip(case["new"], case["old"], strict=True)]
    margin = max(TOLERANCE, (max(ratios) - min(ratios)) / 2)
    case.update(ratios=ratios, slower=1 - median(ratios) > margin)
    return case


def worth_repeating(trials):
    """Of {variant: tokens/s of one trial run}, those that may turn out to be the fastest, fastest first."""
    good = {name: rate for name, rate in trials.items() if rate}
    if not good:
        return []
    best = max(good.values())
    return sorted((n for n in good if good[n] >= NEAR * best), key=lambda n: -good[n])


def summarise(case):
    """Adds ratio and share of the measured peak to a case that holds raw figures:
    {"weft": {"tokens_per_second": [...], "gflops": [...], "ceiling_gflops": [...]},
     "peers": [{"name": ..., "tokens_per_second": [...]}, ...]}
    The ratio is weft's median over the fastest peer's median; the peak ("ceiling" in the files) is the best that any run
    measured. What cannot be known is None."""
    weft = case["weft"]
    own, rates = median(weft["tokens_per_second"]), {p["name"]: median(p["tokens_per_second"]) for p in case["peers"]}
    rivals = {name: rate for name, rate in rates.items() if rate}
    fastest = max(rivals, key=rivals.get, default=None)
    case["fastest_peer"] = fastest
    case["ratio"] = own / rivals[fastest] if fastest and own else None
    ceilings = [c for c in weft["ceiling_gflops"] if c]
    case["ceiling_gflops"] = max(ceilings, default=None)
    gflops = median(weft["gflops"])
    case["ceiling_share"] = gflops / case["ceiling_gflops"] if gflops and ceilings else None
    return case


def summarise_decoding(case, new_tokens):
    """Of {"batch": n, "programs": {name: [{"run_seconds": [s], ...}, ...]}}, with "weight_bytes" and "read_bandwidth" in
    the runs of weft: each program's rates, and weft's weights a position over the best read bandwidth that any run
    measured. Null where a program has no such figures."""
    measured = [run["read_bandwidth"] for runs in case["programs"].values() for run in runs if run.get("read_bandwidth")]
    case["read_bandwidth"] = max(measured, default=None)
    for name, runs in case["programs"].items():
        rates = [case["batch"] * new_tokens / run["run_seconds"][0] for run in runs]
        weights, share = runs[0].get("weight_bytes"), None
        if weights and measured:
            share = weights * median(rates) / case["batch"] / case["read_bandwidth"]
        case["programs"][name] = {"tokens_per_second": rates, "weight_bytes": weights, "bandwidth_share": share,
                                  "runs": runs}
    return case
