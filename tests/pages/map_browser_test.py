#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens the pages of weft embed in a browser without a network, and looks at what a reader would.

    map_browser_test.py WEFT SCRATCH [--keep FOLDER]     --keep: writes pictures of the pages there

Exit status 77 if chromium, its driver or selenium is missing.
"""

import json
import math
import pathlib
import shutil
import subprocess
import sys

from browser import HOSTILE, ActionChains, By, Page, check, check_light_and_dark, check_phone, check_touch, started
from byte_models import train

weft, scratch = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
keep = pathlib.Path(sys.argv[4]) if sys.argv[3:4] == ["--keep"] else None
BYTES = b"\xff\xed\xa0\x80\x1b[2J"
LINES = [f"{adjective} {noun}" for adjective in ("red", "blue", "old") for noun in ("boat", "house", "king", "ox")]
PAGES = {"texts.html": ["plot-map", "plot-similarity"], "positions.html": ["plot-map", "plot-similarity"],
         "inputs.html": ["plot-inputs"]}


def run(*words, lines=()):
    told = b"".join((line if isinstance(line, bytes) else line.encode()) + b"\n" for line in lines)
    return subprocess.run([weft, *words], check=True, cwd=scratch, input=told, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout.decode()


def table(page, figure):
    """The rows of the table under a plot, without its head."""
    page.run("document.querySelector(arguments[0]).open = true", f"#{figure} details")
    page.settle()
    rows = page.run("return [...document.querySelectorAll(arguments[0])].map((row) => "
                    "[...row.children].map((cell) => cell.textContent))", f"#{figure} tbody tr")
    page.run("document.querySelector(arguments[0]).open = false", f"#{figure} details")
    return rows


def press(page, value):
    page.browser.find_element(By.CSS_SELECTOR, f"[data-value={value}]").click()
    page.settle()


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b)) / (sum(x * x for x in a) * sum(y * y for y in b)) ** 0.5


# The page's similarities and neighbours are those of the vectors that weft prints.
def check_numbers(page):
    told = [json.loads(line) for line in run("embed", "--checkpoint", "runs/text", "--json", lines=LINES).splitlines()]
    wanted = [[cosine(a["vector"], b["vector"]) for b in told] for a in told]
    shown = [[float(cell) for cell in row[1:]] for row in table(page, "plot-similarity")]
    differ = max(abs(a - b) for ours, theirs in zip(shown, wanted) for a, b in zip(ours, theirs))
    check(len(shown) == len(LINES) and differ < 6e-5, f"the similarities differ by {differ}")
    for at, (name, x, y, near) in enumerate(table(page, "plot-map")):
        best = max(wanted[at][other] for other in range(len(LINES)) if other != at)
        check(name == LINES[at], f"row {at} is {name!r} at {x}, {y}")
        check(abs(float(near.split(" · ")[0].split()[-1]) - best) < 6e-5, f"{name}: nearest is {near!r}, not {best}")


# Where the picture has its points: in the middle, with one scale for both axes, 18 pixels from the ends.
def points_of(places, width, height):
    left, right, bottom, top = (end(place[axis] for place in places) for axis in (0, 1) for end in (min, max))
    scale = min((width - 36) / (right - left), (height - 36) / (top - bottom))
    return [((x - (left + right) / 2) * scale, ((bottom + top) / 2 - y) * scale) for x, y in places]


# Each projection shows points; the one under the mouse is told with its neighbours.
def check_map(page):
    seen = []
    for projection in ("t_sne", "components"):
        press(page, projection)
        check(page.ink("plot-map") > 100, f"{projection} is empty")
        rows = table(page, "plot-map")
        canvas = page.browser.find_element(By.CSS_SELECTOR, "#plot-map canvas")
        points = points_of([(float(row[1]), float(row[2])) for row in rows], canvas.size["width"], canvas.size["height"])
        room = [min(math.dist(point, other) for other in points if other is not point) for point in points]
        at = room.index(max(room))
        ActionChains(page.browser).move_to_element_with_offset(canvas, *map(round, points[at])).perform()
        page.settle()
        told, near = (page.browser.find_element(By.CSS_SELECTOR, f"#plot-map .{part}").text for part in ("place", "near"))
        check(told == rows[at][0], f"{projection}: {told!r} is told, not {rows[at][0]!r}")
        check(near.split() == f"most similar: {rows[at][3]}".split(), f"{projection}: {near!r} is told, not {rows[at][3]!r}")
        seen.append(points)
    check(seen[0] != seen[1], "both projections have the same points")


def check_inputs(page):
    shown = []
    for part in ("token", "position", "sum"):
        press(page, part)
        check(page.ink("plot-inputs", least=15) > 100, f"{part} is empty")
        shown.append([[float(cell) for cell in row[1:]] for row in table(page, "plot-inputs")])
    token, position, total = shown
    check(len(total) == len("red boat") and len(total[0]) == 16, f"{len(total)} tokens")
    differ = max(abs(a + b - c) for x, y, z in zip(token, position, total) for a, b, c in zip(x, y, z))
    check(differ < 1e-3, f"the sum differs by {differ}")


def check_hostile(page):
    check(page.browser.title != "taken", "a text was run as a script")
    check(page.run("return document.images.length") == 0, "a text became an image")
    spelt = HOSTILE.replace("\u202e", "\\u202e") + "\\xff\\xed\\xa0\\x80\\x1b[2J"
    shown = table(page, "plot-map")[0][0]
    check(shown == spelt, f"the text is shown as {shown!r}")


def main():
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    train(weft, scratch, "text", "gpt", "the red boat and the old king went by the blue house\n" * 40)
    embed = ("embed", "--checkpoint", "runs/text", "--map")
    run(*embed, "texts.html", lines=LINES)
    run(*embed, "positions.html", "--positions")
    run(*embed, "inputs.html", "--inputs", lines=["red boat"])
    run(*embed, "hostile.html", lines=[HOSTILE.encode() + BYTES, *LINES])
    browser = started()
    try:
        texts = Page(browser, scratch / "texts.html")
        check_numbers(texts)
        check_map(texts)
        texts.check_console()
        inputs = Page(browser, scratch / "inputs.html")
        check_inputs(inputs)
        inputs.check_console()
        hostile = Page(browser, scratch / "hostile.html")
        check_hostile(hostile)
        hostile.check_console()
        for name, plots in PAGES.items():
            check_light_and_dark(browser, scratch / name, name, keep, plots, least=15)
        for name in (*PAGES, "hostile.html"):
            check_phone(browser, scratch / name, name, keep, least=15)
        fingers = Page(browser, scratch / "positions.html", width=390, fingers=True)
        check_touch(fingers, browser.find_element(By.CSS_SELECTOR, "#plot-map canvas"),
                    lambda: browser.find_element(By.CSS_SELECTOR, "#plot-map .place").text)
        fingers.check_console()
    finally:
        browser.quit()
    print("browser: all as expected")


if __name__ == "__main__":
    main()
