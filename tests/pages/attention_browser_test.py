#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens the pages of weft attention in a browser without a network, and looks at what a reader would.

    attention_browser_test.py WEFT SCRATCH [--keep FOLDER]     --keep: writes pictures of the pages there

Exit status 77 if chromium, its driver or selenium is missing.
"""

import json
import pathlib
import shutil
import subprocess
import sys

from browser import HOSTILE, ActionChains, By, Page, check, check_light_and_dark, check_touch, check_width, started
from byte_models import train

weft, scratch = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
keep = pathlib.Path(sys.argv[4]) if sys.argv[3:4] == ["--keep"] else None
BYTES = b"\xff\xed\xa0\x80\x1b[2J"
KINDS = {"encoder": "source to source", "decoder": "translation to itself", "cross": "translation to source"}


def run(*words):
    subprocess.run([weft, *words], check=True, cwd=scratch, stderr=subprocess.DEVNULL)


def table(page):
    """The page's table of weights: the columns' tokens, and by row its token and its weights."""
    page.run("document.querySelector('#plot-attention details').open = true")
    page.settle()
    rows = page.run("return [...document.querySelectorAll('#plot-attention tr')].map((row) => "
                    "[...row.children].map((cell) => cell.textContent))")
    page.run("document.querySelector('#plot-attention details').open = false")
    return rows[0][1:], {row[0]: row[1:] for row in rows[1:]}


def choose(page, name, value):
    page.run("""const select = document.getElementById(arguments[0]);
                select.value = arguments[1];
                select.dispatchEvent(new Event('change'));""", name, str(value))


# Each kind, layer and head shows the weights that weft says.
def check_choosers(page, said):
    for kind, name in KINDS.items():
        page.browser.find_element(By.CSS_SELECTOR, f"[data-value={kind}]").click()
        for found in (one for one in said["attention"] if one["kind"] == kind):
            for head, weights in [("mean", found["mean"]), *enumerate(found["heads"])]:
                choose(page, "layer", found["layer"])
                choose(page, "head", head)
                title = page.browser.find_element(By.CSS_SELECTOR, "#plot-attention .title").text
                of = "mean of the heads" if head == "mean" else f"head {head}"
                check(title == f"{name}, layer {found['layer']}, {of}", f"the title is {title!r}")
                shown = [[float(cell) for cell in row] for row in table(page)[1].values()]
                differ = max(abs(a - b) for ours, theirs in zip(shown, weights) for a, b in zip(ours, theirs))
                check(len(shown) == len(weights) and differ < 6e-5, f"{title}: the table differs by {differ}")
                check(page.ink("plot-attention") > 100, f"{title} is empty")


# What is told of the place under the mouse is in the table.
def check_hover(page):
    for view in ("lines", "matrix"):
        page.browser.find_element(By.CSS_SELECTOR, f"[data-value={view}]").click()
        columns, rows = table(page)
        page.ink("plot-attention")
        canvas = page.browser.find_element(By.CSS_SELECTOR, "#plot-attention canvas")
        width, height = canvas.size["width"], canvas.size["height"]
        for x, y in ((0.4, -0.1), (0.3, 0.35), (-0.4 if view == "lines" else 0.1, 0.1)):
            ActionChains(page.browser).move_to_element_with_offset(canvas, int(x * width), int(y * height)).perform()
            page.settle()
            told = page.browser.find_element(By.CSS_SELECTOR, "#plot-attention .place").text
            check("→" in told, f"{view}: {told!r} is told at {x}, {y}")
            row, column, weight = told.replace("→", "").split()
            check(rows[row][columns.index(column)] == weight, f"{view}: {told!r} is told, the table says {rows[row]}")
        ActionChains(page.browser).move_to_element(page.browser.find_element(By.TAG_NAME, "h1")).perform()


def check_entropies(page, said):
    cells = page.browser.find_elements(By.CSS_SELECTOR, "button.entropy")
    wanted = [(one["kind"], one["layer"], head, entropy) for one in said["attention"] for head, entropy in enumerate(one["entropy"])]
    check(len(cells) == len(wanted), f"{len(cells)} entropies of {len(wanted)}")
    for cell, (kind, layer, head, entropy) in zip(cells, wanted):
        check(abs(float(cell.text) - entropy) < 0.006, f"{kind} {layer} {head}: {cell.text} for {entropy}")
        page.run("arguments[0].click()", cell)
        title = page.browser.find_element(By.CSS_SELECTOR, "#plot-attention .title").text
        check(title == f"{KINDS[kind]}, layer {layer}, head {head}", f"an entropy chose {title!r}")


def check_alignment(page, said):
    check(page.ink("plot-alignment") > 100, "the alignment is empty")
    shown = page.browser.find_element(By.CSS_SELECTOR, ".moses code").text
    check(shown == said["alignment"]["moses"] != "", f"the alignment is {shown!r}, weft says {said['alignment']['moses']!r}")


def check_hostile(page):
    check(page.browser.title != "taken", "a text was run as a script")
    check(page.run("return document.images.length") == 0, "a text became an image")
    shown = page.run("return document.querySelector('h1').textContent")
    spelt = HOSTILE.replace("\u202e", "\\u202e") + "\\xff\\xed\\xa0\\x80\\x1b[2J"
    check(shown == spelt, f"the text is shown as {shown!r}")


def main():
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    train(weft, scratch, "pairs", "translation", "".join(f"x{i} y{i}\tab{i} cd\n" for i in range(40)), "encoder_layers: 2, ")
    train(weft, scratch, "text", "gpt", "the boats went by\n" * 200)
    run("attention", "x1 y2", "ab cd", "--checkpoint", "runs/pairs", "--out", "pair.html", "--out", "pair.json")
    run("attention", HOSTILE.encode() + BYTES, "ab" + HOSTILE, "--checkpoint", "runs/pairs", "--out", "hostile.html")
    run("attention", "the boats went by, and others came back the next morning, all of them, with nets and fish and so on, "
                     "and were seen from the old tower on the hill.", "--checkpoint", "runs/text", "--out", "text.html")
    said = json.loads((scratch / "pair.json").read_text())
    browser = started()
    try:
        pair = Page(browser, scratch / "pair.html")
        check(pair.figures() == ["plot-alignment", "plot-attention"], f"the plots are {pair.figures()}")
        check_alignment(pair, said)
        check_choosers(pair, said)
        check_hover(pair)
        check_entropies(pair, said)
        pair.check_console()
        hostile = Page(browser, scratch / "hostile.html")
        check_hostile(hostile)
        hostile.check_console()
        for name in ("pair.html", "text.html"):
            check_light_and_dark(browser, scratch / name, name, keep, least=15)
        for name in ("pair.html", "hostile.html", "text.html"):
            phone = Page(browser, scratch / name, width=390, keep=keep)
            check_width(phone)
            for view in ("lines", "matrix"):
                phone.run(f"document.querySelector('[data-value={view}]').click()")
                check(phone.ink("plot-attention", least=15) > 100, f"{name} is empty on a phone as {view}")
            phone.picture(f"{name}-phone")
            phone.check_console()
        fingers = Page(browser, scratch / "text.html", width=390, fingers=True)
        fingers.run("document.querySelector('[data-value=matrix]').click()")
        check_touch(fingers, browser.find_element(By.CSS_SELECTOR, "#plot-attention canvas"),
                    lambda: browser.find_element(By.CSS_SELECTOR, "#plot-attention .place").text)
        fingers.check_console()
    finally:
        browser.quit()
    print("browser: all as expected")


if __name__ == "__main__":
    main()
