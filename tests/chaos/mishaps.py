# SPDX-License-Identifier: Apache-2.0
"""What else can happen to a run: damaged checkpoints, full disks, a second job, branches, other ranks. Where and when is
drawn each time."""

import os
import shutil
import subprocess
import time

from runs import SAVES, Lost, kill_after


def damage(runs, random_, found, kinds=None):
    """Flips a bit of one file of the latest checkpoint, or cuts it: the run takes the checkpoint before, or refuses."""
    latest = sorted((runs.scratch / "half" / "checkpoints").glob("step-????????"))[-1]
    for file in sorted(path.name for path in latest.iterdir()):
        for how in ("flip", "cut"):
            if kinds and (file, how) not in kinds:
                continue
            runs.clear("damaged")
            runs.half("damaged")
            path = runs.scratch / "damaged" / "checkpoints" / latest.name / file
            data = bytearray(path.read_bytes())
            if how == "flip":
                data[random_.randrange(len(data))] ^= 1 << random_.randrange(8)
            else:
                del data[random_.randrange(len(data)):]
            path.write_bytes(data)
            runs.goes_on("damaged")
            found[f"damage-{how}"] += 1
            print(f"{how} in {file}: the checkpoint before was taken", flush=True)


def full_disk(runs, random_, found):
    """Runs on a file system that is too small for the run, and again once it has room."""
    run = "full"
    filler = random_.randrange(3700, 3760)  # KiB, of 4 MiB; one checkpoint needs more than what is left
    shutil.rmtree(runs.scratch / run, ignore_errors=True)
    shutil.rmtree(runs.scratch / f"{run}-after", ignore_errors=True)
    weft = f'mpirun --oversubscribe --bind-to none -np 2 "{runs.weft}" train job.yaml --set run_dir={run}/run'
    script = f"""set -e; export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
mkdir {run}; mount -t tmpfs -o size=4m none {run}; code=0
{weft} --set checkpoint.every_steps=0 --set train.max_steps=2 >{run}.log 2>&1 || {{ cat {run}.log; exit 9; }}
rm -r {run}/run; head -c {filler}k /dev/zero >{run}/filler
{weft} >{run}.log 2>&1 || code=$?
[ $code = 3 ] || {{ cat {run}.log; echo "exit $code on a full disk"; exit 9; }}
rm {run}/filler; {weft} >{run}.log 2>&1 || {{ cat {run}.log; exit 9; }}
cp -r {run}/run {run}-after"""
    made = subprocess.run(["unshare", "-m", "bash", "-c", script], cwd=runs.scratch, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if made.returncode == 9:
        raise Lost(made.stdout)
    if made.returncode != 0:
        print(f"no full disk: the user may not mount ({made.stdout.strip()})")
        return
    if runs.result("full-after") != runs.expected:
        raise Lost("after a full disk the run ends with other values")
    found["full-disk"] += 1
    print(f"a disk with {4096 - filler} KiB left: refused, and resumed once there was room", flush=True)


def two_jobs(runs, random_, found):
    """Starts a second job on the directory of a run that is stopped meanwhile: it must be refused."""
    runs.clear("shared")
    lines = random_.randrange(1, 40)  # of the first job's metrics, before the second begins
    first = subprocess.Popen([runs.weft, "train", "job.yaml", "--set", "run_dir=shared", "--set", "train.max_steps=1000000"],
                             cwd=runs.scratch, stderr=subprocess.DEVNULL, env=dict(os.environ, OMP_NUM_THREADS="1"))
    try:
        for _ in range(600):
            if len(runs.lines("shared")) >= lines:
                break
            time.sleep(0.1)
        code, log = runs.train("shared", "--set", "checkpoint.lock_wait_seconds=0")
        if code != 6 or "belongs to another run" not in log:
            raise Lost(f"a second job on the same directory ended with {code}:\n{log}")
    finally:
        first.kill()
        first.wait()
    found["two-jobs"] += 1
    print("two jobs: the second is refused", flush=True)


def branch(runs, random_, found):
    """Resumes an older checkpoint of a run, and is killed after a save: the same command resumes from that save."""
    runs.clear("branch")
    runs.half("branch")
    older = sorted((runs.scratch / "branch" / "checkpoints").glob("step-????????"))[0]
    moment = 2 * SAVES + random_.randrange(1, SAVES)
    arguments = ("--resume", f"branch/checkpoints/{older.name}")
    begins = int(older.name[5:])
    code, came = runs.disturbed("branch", kill_after(moment, victim=random_.randrange(2)), *arguments)
    log = (runs.scratch / "branch.log").read_text()
    if not came or f"resumed from branch/checkpoints/{older.name} " not in log:
        raise Lost(f"a branch did not begin where it was told, and ended with {code}:\n{log}")
    newest = runs.whole_checkpoints("branch")
    if newest <= begins:
        raise Lost(f"a branch from step {begins} was killed {moment} steps later, and has saved no step after {newest}")
    runs.goes_on("branch", *arguments, begins_at=newest)
    runs.goes_on("branch")
    found["branch"] += 1
    print(f"branch from {older.name}: killed and resumed to the same end", flush=True)


def other_ranks(runs, random_, found):
    """Changes the number of ranks after each kill, from 2. The end is that of a run that changed it undisturbed."""
    last = runs.steps_of("half")[-1]
    second, third = random_.sample((1, 3, 4), 2)
    for run in ("changes", "undisturbed"):
        runs.clear(run)
        runs.half(run)
    moment = kill_after(2 * SAVES + random_.randrange(1, SAVES), victim=random_.randrange(second))
    _, came = runs.disturbed("changes", moment, ranks=second)
    newest = runs.whole_checkpoints("changes")
    if not came or newest <= last:
        raise Lost(f"{second} ranks that resumed at step {last} were not killed after their next save: {newest} is saved")
    another_end = ("--set", "allow_changes=[train.max_steps]")
    runs.ends("undisturbed", "--set", f"train.max_steps={newest}", *another_end, ranks=second)
    runs.ends("undisturbed", *another_end, ranks=third)
    runs.goes_on("changes", ranks=third, begins_at=newest, as_in=runs.result("undisturbed"))
    found["other-ranks"] += 1
    print(f"2, {second} and {third} ranks, killed between: the end of the undisturbed run", flush=True)


def rollbacks(runs, found, moments):
    """Kills a run whose steps are spikes more often than not, between and in its rollbacks."""
    run = "rolls-back"
    settings = {"train.spikes.window": 4, "train.spikes.bound": 1.5, "train.spikes.of": "norm",
                "train.max_nonfinite_steps": 0, "train.on_divergence": "roll_back", "train.max_rollbacks": 100}
    arguments = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    runs.clear(run)
    log = runs.ends(run, *arguments)
    events = [line["event"] for line in runs.lines(run)]
    if events.count("roll_back") < 5:
        raise Lost(f"a run that must roll back did it {events.count('roll_back')} times:\n{log}")
    expected = runs.result(run)
    for moment in moments:
        runs.clear(run)
        _, came = runs.disturbed(run, kill_after(moment), *arguments)
        if not came or not any(line["event"] == "roll_back" for line in runs.lines(run)):
            raise Lost(f"the run was not killed after its {moment}th step, which follows a rollback")
        runs.goes_on(run, *arguments, begins_at=runs.whole_checkpoints(run), as_in=expected)
        found["rollback"] += 1
    print(f"killed {len(moments)} times among {events.count('roll_back')} rollbacks: the same end", flush=True)


def no_growth(runs, random_, found):
    """A limit on the size of files (ulimit -f) ends a save: nothing else is lost, and the run is resumed without it."""
    run = "no-growth"
    runs.clear(run)
    runs.half(run)
    most = random_.randrange(32, 48)
    code, log = runs.train(run, before=("bash", "-c", f'ulimit -f {most} && exec "$0" "$@"'))
    if code != 3:
        raise Lost(f"with files of at most {most} KiB it ended with {code}:\n{log}")
    runs.nothing_runs(run)
    newest = runs.whole_checkpoints(run)
    runs.goes_on(run, begins_at=newest)
    runs.no_temporaries(run)
    found["no-growth"] += 1
    print(f"files of at most {most} KiB: refused, and resumed without the limit", flush=True)


def each_mishap(runs, random_, found):
    for mishap in (full_disk, no_growth, two_jobs, branch, other_ranks):
        mishap(runs, random_, found)
