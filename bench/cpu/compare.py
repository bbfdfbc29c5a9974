#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures weft's training steps beside PyTorch's on this machine's processors, alternating, in one run.

For each case and precision the peer is tried eager and compiled; what may be the fastest is then run in turn with
weft. Medians, ratios and the measured peak go to bench/results/NAME.json, the figures of each run to a file under
build/. The peers are bench/peers/language_model.py and bench/peers/translation_model.py.

With --against OLD the peer is another weft program: alternating pairs of runs of the same steps, and for each case the
ratio of the pairs. Exit status 1 if a case is slower by more than 2 % and by more than its own spread."""

import argparse
import datetime
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases  # noqa: E402
import figures  # noqa: E402
from result_file import ROOT, ResultFile, add_options  # noqa: E402

FLAGS = ("avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_tile")
PEER_RATE = "tokens_per_second"  # the figure that bench/peers/*_model.py print
MICRO_BATCH_MEMORY = 12  # GiB that four windows of a model of 124M need, the peer's logits included


def beside(*path):
    return os.path.normpath(os.path.join(ROOT, "..", "shared", *path))


def parse(arguments):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(p, "processor and date")
    p.add_argument("--weft", default=os.path.join(ROOT, "build", "cpu", "weft"), help="the program (%(default)s)")
    p.add_argument("--peers", default=cases.PEERS, metavar="FOLDER", help="other programs with the same names and options")
    p.add_argument("--python", default=os.environ.get("WEFT_BENCH_PYTHON", "python3"),
                   help="a Python that has PyTorch ($WEFT_BENCH_PYTHON; python3)")
    p.add_argument("--data", default=os.environ.get("WEFT_TEST_DATA", beside("data")),
                   help="folder with multi30k/tok/ ($WEFT_TEST_DATA; shared/data beside the sources)")
    p.add_argument("--cases", help=f"comma-separated ({','.join(cases.CASES)}; with --against without "
                                   f"{','.join(cases.NOT_IN_0_1)})")
    p.add_argument("--precisions", default=",".join(cases.PRECISIONS), help="comma-separated (%(default)s)")
    p.add_argument("--repeats", type=int, help="runs of each program, in turn (5; 9 with --against)")
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="(%(default)s)")
    p.add_argument("--micro-batch", type=int, default=0,
                   help="windows a step of the models of 124M; 0: 4, or 1 if memory is short")
    p.add_argument("--steps", type=int, default=0, help="measured steps a run; 0: 3 (models of 124M) or 60")
    p.add_argument("--against", metavar="OLD", help="another weft program, instead of the peers")
    p.add_argument("--against-jobs", metavar="FOLDER",
                   help="job files for it, FOLDER/CASE.yaml, where its keys are not those of this build")
    p.add_argument("--layout", choices=("threads", "ranks"), default="threads",
                   help="with --against: one rank with all threads, or a rank for each (%(default)s)")
    p.add_argument("--no-compile", action="store_true", help="try the peers eager only")
    p.add_argument("--timeout", type=int, default=1800, help="seconds that one run may take (%(default)s)")
    options = p.parse_args(arguments)
    if options.cases is None:
        options.cases = ",".join(c for c in cases.CASES if not options.against or c not in cases.NOT_IN_0_1)
    options.cases = choose(p, "--cases", options.cases, cases.CASES)
    options.precisions = choose(p, "--precisions", options.precisions, cases.PRECISIONS)
    if options.repeats is None:
        options.repeats = 9 if options.against else 5
    if (options.against_jobs or options.layout != "threads") and not options.against:
        p.error("--against-jobs and --layout belong to --against")
    if options.repeats < 1 or options.threads < 1:
        p.error("--repeats and --threads are at least 1")
    if not options.micro_batch:
        options.micro_batch = 4 if memory_gib("MemAvailable") >= MICRO_BATCH_MEMORY else 1
    return options


def choose(parser, option, text, known):
    chosen = [part for part in text.split(",") if part]
    unknown = [part for part in chosen if part not in known]
    if unknown or not chosen:
        parser.error(f"{option}: {', '.join(unknown) or 'nothing chosen'}; known: {', '.join(known)}")
    return chosen


def memory_gib(field):
    with open("/proc/meminfo", encoding="ascii") as info:
        return next((int(line.split()[1]) / 2**20 for line in info if line.startswith(field + ":")), 0.0)


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        text = info.read()
    found = {key: re.search(rf"^{key}\s*:\s*(.*)$", text, re.M) for key in ("model name", "flags")}
    value = {key: match.group(1) if match else "" for key, match in found.items()}
    return {"processor": value["model name"] or platform.machine(), "processors": len(os.sched_getaffinity(0)),
            "isa": [flag for flag in FLAGS if flag in value["flags"].split()],
            "memory_gib": round(memory_gib("MemTotal"), 1), "kernel": platform.release()}


def output(command):
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def own_versions(weft):
    return {"commit": output(["git", "rev-parse", "HEAD"]) or "unknown",
            "changed": bool(output(["git", "status", "--porcelain", "--untracked-files=no", "--", ".", ":!bench/results"])),
            "weft": output([weft, "--version"]).splitlines()[:1]}


def program_version(weft):
    """What a weft program prints of itself: version, git revision, libraries."""
    lines = output([os.path.abspath(weft), "--version"]).splitlines()
    if not lines:
        raise SystemExit(f"{weft} --version prints nothing: build it, or give another program")
    return lines


def peer_versions(python):
    torch = output([python, "-c", "import torch; print(torch.__version__)"])
    if not torch:
        raise SystemExit(f"{python} cannot import torch: give --python or $WEFT_BENCH_PYTHON")
    return {"torch": torch, "python": output([python, "-c", "import platform; print(platform.python_version())"])}


def without_folders(text):
    """Names of files without where they lie on this machine."""
    return re.sub(r"/[^\s'\"]*/", "", text)


def run(command, options, threads):
    env = dict(os.environ, OMP_NUM_THREADS=str(threads))
    if os.geteuid() == 0:  # Open MPI refuses root unless told
        env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=options.timeout)
    if done.returncode:
        last = ((done.stderr or done.stdout).strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"exit {done.returncode}: {without_folders(last)}")
    return done.stdout


def one_thread_ranks(count):
    """The launcher; run_weft() gives its ranks a thread each."""
    return ["mpirun", "--bind-to", "none", "-np", str(count), "weft"]


def layouts(case, options):
    """One rank with all threads; for small models also as many ranks of one thread."""
    found = {"threads": ["weft"]}
    if case.may_use_ranks and options.threads > 1 and shutil.which("mpirun"):
        found["ranks"] = one_thread_ranks(options.threads)
    return found


def run_weft(case, precision, launcher, options, scratch, weft=None):
    """What one run of options.weft, or of another program, measures of a case."""
    path = os.path.join(scratch, "weft.json")
    command = [os.path.abspath(weft or options.weft) if word == "weft" else word for word in launcher]
    threads = options.threads if launcher == ["weft"] else 1
    run([*command, *case.weft, "--set", f"train.precision={precision}", "--json", path], options, threads)
    with open(path, encoding="utf-8") as result:
        return json.loads(result.read().replace(scratch, "SCRATCH"))


def run_peer(case, precision, variant, options):
    command = [options.python, os.path.join(options.peers, case.peer[0]), *case.peer[1:], "--precision",
               precision]
    text = run(command + (["--compile"] if variant == "compiled" else []), options, options.threads)
    return json.loads(text.strip().splitlines()[-1])


def try_peer(case, precision, options):
    """Each variant once: {variant: its figures}, and why a variant did not run."""
    trials, failures = {}, {}
    for variant in ("eager",) if options.no_compile else ("eager", "compiled"):
        try:
            trials[variant] = run_peer(case, precision, variant, options)
            say(f"  trial: PyTorch {variant} {trials[variant][PEER_RATE]:.0f} tokens/s")
        except (RuntimeError, ValueError, subprocess.TimeoutExpired) as error:
            failures[variant] = without_folders(str(error))
            say(f"  trial: PyTorch {variant} did not run: {error}")
    return trials, failures


def try_weft(case, precision, options, scratch):
    """The launcher of weft's fastest layout, and every layout's rate."""
    found, rates = layouts(case, options), {}
    for name, launcher in found.items() if len(found) > 1 else ():
        rates[name] = run_weft(case, precision, launcher, options, scratch)[case.weft_rate]
        say(f"  trial: weft by {name} {rates[name]:.0f} tokens/s")
    best = max(rates, key=rates.get) if rates else "threads"
    return found[best], rates


def alternating(repeats, rate_of, names):
    """The rates of pairs of runs, {"new": [...], "old": [...]}, in turn first and second, so that a drift of the machine
    affects both alike. rate_of() runs one of the two; `names` are what lines of progress call them."""
    rates = {"new": [], "old": []}
    for pair in range(repeats):
        for which in ("new", "old") if pair % 2 == 0 else ("old", "new"):
            rates[which].append(rate_of(which))
        new, old = rates["new"][-1], rates["old"][-1]
        say(f"  pair {pair + 1} of {repeats}: {names['new']} {new:.0f}, {names['old']} {old:.0f} tokens/s, "
            f"ratio {new / old:.3f}")
    return rates


def shown(arguments, folders):
    """A command as others would type it: no folder of this machine in it, but the names they have in {folder: name}."""
    text = " ".join(arguments)
    for folder, name in folders.items():
        text = text.replace(folder, name)
    return text


def measure(name, precision, options, scratch):
    case, folders = cases.make_case(name, options, scratch), {scratch: "SCRATCH", options.data: "DATA"}
    say(f"{name}, {precision}: {case.note}")
    trials, failures = try_peer(case, precision, options)
    variants = figures.worth_repeating({v: r[PEER_RATE] for v, r in trials.items()})
    launcher, weft_trials = try_weft(case, precision, options, scratch)
    weft_runs, peer_runs = [], {variant: [] for variant in variants}
    for turn in range(options.repeats):
        weft_runs.append(run_weft(case, precision, launcher, options, scratch))
        for variant in variants:
            peer_runs[variant].append(run_peer(case, precision, variant, options))
        last = [f"weft {weft_runs[-1][case.weft_rate]:.0f}"]
        last += [f"PyTorch {v} {peer_runs[v][-1][PEER_RATE]:.0f}" for v in variants]
        say(f"  run {turn + 1} of {options.repeats}: {', '.join(last)} tokens/s")
    peers = [{"name": f"PyTorch {v}", "tokens_per_second": [r[PEER_RATE] for r in runs], "runs": runs}
             for v, runs in peer_runs.items()]
    return figures.summarise({
        "case": name, "precision": precision, "note": case.note,
        "weft": {"command": shown([*launcher, *case.weft], folders), "trials": weft_trials,
                 **weft_figures(weft_runs, case.weft_rate)},
        "peers": peers, "peer_command": shown(case.peer, folders),
        "trials": {v: r[PEER_RATE] for v, r in trials.items()}, "failures": failures, "runs": trials})


def weft_figures(runs, rate):
    """The series that are compared, of the outputs of some runs of weft bench, and those."""
    return {"library": runs[0]["library"], "tokens_per_second": [r[rate] for r in runs],
            "gflops": [r["gflops"] for r in runs], "ceiling_gflops": [r["ceiling_gflops"] for r in runs], "runs": runs}


def say(text):
    print(text, file=sys.stderr, flush=True)


def default_name(where, when):
    word = re.sub(r"[^a-z0-9]+", "-", where["processor"].lower()).strip("-")
    return f"cpu-{word}-{where['processors']}-{when:%Y-%m-%d}"


def own_command():
    """What started this script, as others would type it."""
    program, *words = sys.argv
    words = [os.path.basename(word) if os.path.isabs(word) else word for word in words]
    return " ".join([os.path.relpath(os.path.abspath(program), ROOT), *words])


def begin_result(options, versions, suffix=""):
    """A result without its cases, and the file where it goes."""
    where, when = machine(), datetime.datetime.now(datetime.timezone.utc)
    result = {"format": 2, "name": options.name or default_name(where, when) + suffix, "command": own_command(),
              "date": when.strftime("%Y-%m-%dT%H:%M:%SZ"), "machine": where, "versions": versions,
              "threads": options.threads, "repeats": options.repeats, "load_before": round(os.getloadavg()[0], 2)}
    return result, ResultFile(result["name"], options.out, options.raw)


def main(arguments=None):
    options = parse(arguments)
    if options.against:
        import against  # here, since it imports this module
        return against.main(options)
    result, file = begin_result(options, {**own_versions(options.weft), **peer_versions(options.python)})
    result["cases"] = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.cases:
            for precision in options.precisions:
                result["cases"].append(measure(name, precision, options, scratch))
                file.keep(result)  # keeps the figures so far, whatever happens later
    for case in result["cases"]:
        ratio = f"{case['ratio']:.2f} x {case['fastest_peer']}" if case["ratio"] else "no peer ran"
        share = f"{100 * case['ceiling_share']:.0f} % of the measured peak" if case["ceiling_share"] else "peak n/a"
        rate = figures.median(case["weft"]["tokens_per_second"])
        print(f"{case['case']} {case['precision']}: {rate:.0f} tokens/s, {ratio}, {share}")
    print(file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
