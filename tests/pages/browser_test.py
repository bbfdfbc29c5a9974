#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens the pages of weft report in a browser without a network, and looks at what a reader would.

    browser_test.py WEFT SCRATCH [--keep FOLDER]     --keep: writes pictures of the pages there

Exit status 77 if chromium, its driver, selenium or dygraphs is missing.
"""

import json
import math
import pathlib
import shutil
import subprocess
import sys

from browser import HOSTILE, ActionChains, By, Page, check, check_paper, check_touch, check_width, started

weft, scratch = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
keep = pathlib.Path(sys.argv[4]) if sys.argv[3:4] == ["--keep"] else None


def write_run(folder, width, attempts=2):
    folder.mkdir(parents=True)
    lines = []

    def line(event, step, at, **fields):
        time = f"2026-03-01T{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}Z"
        lines.append(json.dumps({"run": "1", "attempt": 0, "event": event, "step": step, "time": time, **fields}))

    line("start", 0, 0, max_steps=400)
    for attempt, steps in enumerate([range(1, 260), range(201, 401)][:attempts]):
        if attempt > 0:
            line("start", 200, 2000, max_steps=400)
        for step in steps:
            loss = 2 + 6 * math.exp(-step * width / 9e3) + 0.05 * math.sin(7 * step)
            line("train", step, 2 * step + 1500 * attempt, tokens=1000 * step, loss=None if step == 50 else loss, nll=loss,
                 lr=1e-3 * min(step, 40) / 40, grad_norm=1 + 0.1 * math.sin(step), tokens_per_second=5e6 / width,
                 step_ms=200, flops=1e12, mfu=0.4, peak_memory=2e9, comm_exposed_ms=3, data_ms=0.1,
                 busy_ms=[170, 180, 190], data_wait_ms=[0, 0.1, 0.2], comm_wait_ms=[5, 10, 20])
            if step % 50 == 0:
                line("eval", step, 2 * step + 1500 * attempt, loss=loss + 0.1, bleu=step / 10, bleu_signature="x")
                line("trace", step, 2 * step + 1500 * attempt, first=step - 2, file=f"trace-{step - 2}-{step}.json", ranks=2,
                     clock_error_ms=0.01, step_ms=[190, 200, 210],
                     rows=[{"kind": "operation", "what": "matmul", "calls": 10, "ms": [90, 100, 110], "flops": 2e12},
                           {"kind": "wait", "what": HOSTILE, "calls": 1, "ms": [0, 50, 60], "bytes_per_second": 3e9}])
                line("save", step, 2 * step + 1500 * attempt, path=HOSTILE)
                line("generations", step, 2 * step + 1500 * attempt,
                     generations=[{"temperature": 0.7, "prompt": HOSTILE, "text": HOSTILE}])
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "job.yaml").write_text(f"name: a\nmodel: {{width: {width}}}\n")


def check_plots(page):
    figures = page.figures()
    wanted = ["loss", "score-0", "lr", "grad_norm", "tokens_per_second", "step_ms", "flops", "mfu", "peak_memory", "busy_ms",
              "data_wait_ms", "comm_wait_ms", "data_ms", "comm_exposed_ms"]
    check(figures == [f"plot-{name}" for name in wanted], f"the plots are {figures}")
    for figure in figures:
        check(page.ink(figure) > 200, f"{figure} is empty")


# What the legend says of the point under the mouse is in the plot's table.
def check_hover(page):
    page.run("document.querySelector('#plot-loss').scrollIntoView({block: 'center'})")
    page.settle()
    drawing = page.browser.find_element(By.CSS_SELECTOR, "#plot-loss .drawing")
    for offset in (-300, 0, 250):
        ActionChains(page.browser).move_to_element_with_offset(drawing, offset, 0).perform()
        page.settle()
        place = page.browser.find_element(By.CSS_SELECTOR, "#plot-loss .place").text
        told = [value.text for value in page.browser.find_elements(By.CSS_SELECTOR, "#plot-loss .value")]
        check(place.startswith("step ") and told[0], f"over the loss, the legend says {place!r} {told}")
        page.run("document.querySelector('#plot-loss details').open = true")
        page.settle()
        rows = page.run("return [...document.querySelectorAll('#plot-loss tbody tr')].map((row) => "
                        "[...row.children].map((cell) => cell.textContent))")
        row = next((row for row in rows if row[0] == place.removeprefix("step ")), None)
        check(row is not None and row[3] == told[0], f"the legend says {told} at {place!r}, the table {row}")
        page.run("document.querySelector('#plot-loss details').open = false")


# The last four traces, each with a share of its step for every row.
def check_times(page):
    rows = page.run("return [...document.querySelectorAll('.times tbody tr')].map((row) => "
                    "[...row.children].map((cell) => cell.textContent))")
    check(len(rows) == 8 and rows[0] == ["matmul", "computes", "50 %", "100", "90 to 110", "10", "2 TFLOP/s"],
          f"the table of times is {rows}")
    check(rows[1][2:4] == ["25 %", "50"], f"a wait is {rows[1]}")


def check_hiding(page):
    before = page.ink("plot-loss")
    for chip in page.browser.find_elements(By.CSS_SELECTOR, "#plot-loss .chip"):
        chip.click()
    page.settle()
    hidden = page.ink("plot-loss")
    check(hidden < before / 4, f"{before} coloured pixels of the loss, {hidden} when all curves are hidden")
    for chip in page.browser.find_elements(By.CSS_SELECTOR, "#plot-loss .chip"):
        chip.click()
    page.settle()
    check(page.ink("plot-loss") > before / 2, "curves do not come back")


def check_switches(page):
    ink = "return [...document.querySelectorAll('#plot-loss .dygraph-axis-label-x')].map((label) => label.textContent).join()"
    page.ink("plot-loss")
    steps = page.run(ink)
    for axis in ("tokens", "seconds", "step"):
        page.run(f"document.querySelector('[data-value={axis}]').click()")
        page.settle()
        check(page.ink("plot-loss") > 200, f"no curve over {axis}")
        check((page.run(ink) == steps) == (axis == "step"), f"the axis of {axis} says {page.run(ink)}")
    page.run("const slider = document.getElementById('smoothing'); slider.value = 90; slider.dispatchEvent(new Event('input'))")
    page.settle()
    check(page.ink("plot-loss") > 200, "no smoothed curve")
    for box in page.browser.find_elements(By.CSS_SELECTOR, ".controls > label:nth-of-type(1) input, figure .log input"):
        page.run("arguments[0].click()", box)
    page.settle()
    for figure in page.figures():
        check(page.ink(figure) > 100, f"{figure} is empty with logarithmic axes")


# A part that is looked at in one plot is looked at in all, until a button shows the whole again.
def check_zoom(page):
    last_tick = ("const labels = document.querySelectorAll('#plot-lr .dygraph-axis-label-x'); "
                 "return labels[labels.length - 1].textContent")
    page.ink("plot-lr")
    whole = page.run(last_tick)
    page.ink("plot-loss")
    drawing = page.browser.find_element(By.CSS_SELECTOR, "#plot-loss .drawing")
    ActionChains(page.browser).move_to_element_with_offset(drawing, -300, 0).click_and_hold().move_by_offset(200, 5).release().perform()
    page.settle()
    page.ink("plot-lr")
    check(page.run(last_tick) != whole, f"the last tick is {whole} in a part too")
    page.run("document.querySelector('.reset').click()")
    page.settle()
    page.ink("plot-lr")
    check(page.run(last_tick) == whole, f"the last tick is {page.run(last_tick)} and was {whole}")


# Every curve is a line of SVG that is drawn somewhere, in the colours of a light page or of a dark one.
def check_still(page, dark):
    figures = page.figures()
    check(len(figures) == 14, f"the still pictures are {figures}")
    for figure in figures:
        lines, wide = page.run("""
            const lines = [...document.querySelectorAll(`#${arguments[0]} .drawing svg path`)];
            const boxes = lines.map((line) => line.getBoundingClientRect());
            return [lines.length, Math.max(0, ...boxes.map((box) => box.width))];""", figure)
        check(lines > 0 and wide > 100, f"{figure} has {lines} lines, of which the widest has {wide} pixels")
    check(page.run("return document.querySelectorAll('canvas').length") == 0, "a still page has a canvas")
    text = page.run("return getComputedStyle(document.querySelector('.drawing text')).fill")
    check((int(text.removeprefix("rgb(").partition(",")[0]) > 128) == dark, f"with dark {dark} the axes are {text}")
    check_width(page)
    page.check_console()


def check_hostile(page):
    check("taken" not in page.browser.title, "a text of the run was run as a script")
    check(page.run("return document.images.length") == 0, "a text of the run became an image")
    shown = page.run("return document.querySelector('.prompt').textContent")
    check(shown == HOSTILE.replace("\u202e", "\\u202e"), f"a prompt is shown as {shown!r}")


def main():
    shutil.rmtree(scratch, ignore_errors=True)
    write_run(scratch / "one", 256)
    write_run(scratch / "two", 64, attempts=1)
    subprocess.run([weft, "report", scratch / "one"], check=True)
    subprocess.run([weft, "report", scratch / "one", scratch / "two", "--out", scratch / "both.html"], check=True)
    subprocess.run([weft, "report", scratch / "one", scratch / "two", "--still", "--out", scratch / "still.html"], check=True)
    if '"drawing":"pictures"' in (scratch / "both.html").read_text():
        print("weft was built without dygraphs")
        sys.exit(77)
    browser = started()
    try:
        one = Page(browser, scratch / "one" / "report.html", keep=keep)
        check_plots(one)
        check_hostile(one)
        check_times(one)
        check_hover(one)
        check_hiding(one)
        one.picture("one")
        check_zoom(one)
        check_switches(one)
        check_paper(one)
        one.check_console()
        both = Page(browser, scratch / "both.html", dark=True, keep=keep)
        check_plots(both)
        check_width(both)
        check(both.run("return getComputedStyle(document.body).backgroundColor") == "rgb(16, 19, 21)", "dark is not dark")
        both.picture("both-dark")
        both.check_console()
        phone = Page(browser, scratch / "both.html", width=390, keep=keep)
        check_plots(phone)
        check_width(phone)
        phone.picture("phone")
        phone.check_console()
        fingers = Page(browser, scratch / "both.html", width=390, fingers=True)
        check_touch(fingers, browser.find_element(By.CSS_SELECTOR, "#plot-loss .drawing"),
                    lambda: browser.find_element(By.CSS_SELECTOR, "#plot-loss .place").text)
        fingers.check_console()
        for dark in (False, True):
            still = Page(browser, scratch / "still.html", dark=dark, keep=keep)
            still.picture("still-dark" if dark else "still")
            check_still(still, dark)
    finally:
        browser.quit()
    print("browser: all as expected")


if __name__ == "__main__":
    main()
