#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens the pages of weft inspect --statistics in a browser without a network, and looks at what a reader would.

    statistics_browser_test.py WEFT SCRATCH [--keep FOLDER]     --keep: writes pictures of the pages there

Exit status 77 if chromium, its driver or selenium is missing.
"""

import json
import pathlib
import shutil
import subprocess
import sys

from browser import HOSTILE, ActionChains, By, Page, check, check_light_and_dark, check_phone, started

weft, scratch = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
keep = pathlib.Path(sys.argv[4]) if sys.argv[3:4] == ["--keep"] else None
PLOTS = ("lengths", "coverage", "frequencies")
SIDES = [("train", "source"), ("train", "target"), ("valid", "source"), ("valid", "target")]


def run(*words):
    return subprocess.run([weft, *words], check=True, cwd=scratch, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True).stdout


# Datasets of words: pairs of 3 to 42 numbers with the texts of some, and documents with hostile words.
def prepare():
    def pair(i):
        return f"{' '.join(str(k * k % 97) for k in range(i % 40 + 3))}\t{' '.join('ab' * (k % 7) for k in range(1, i % 9 + 2))}\n"

    (scratch / "pairs.txt").write_text("".join(map(pair, range(400))))
    (scratch / "few.txt").write_text("".join(map(pair, range(5))))
    (scratch / "words.txt").write_text(f"a {HOSTILE} \x1b[2J a\n" * 3)
    for name, data, specials in (
            ("pairs", "format: tsv, train: {files: [pairs.txt]}, valid: {files: [few.txt]}", "bos: <s>, eos: </s>"),
            ("hostile", "train: {files: [words.txt]}", "eos: </s>")):
        task = "task: translation\n" if name == "pairs" else ""
        (scratch / f"{name}.yaml").write_text(f"""name: {name}
{task}data: {{directory: {name}, {data}}}
tokenizer: {{kind: words, min_frequency: 1, specials: [<unk>, <s>, </s>], unk: <unk>, {specials}}}
model: {{{"encoder_layers: 1, " if task else ""}layers: 1, width: 16, heads: 2, max_length: 160}}
""")
        run("prepare", f"{name}.yaml")
        run("inspect", name, "--statistics", "--top", "30", "--out", f"{name}.html")


def table(page, figure):
    """The head and the rows of a plot's values."""
    page.run("document.querySelector(`#${arguments[0]} details`).open = true", figure)
    page.settle()
    rows = page.run("return [...document.querySelectorAll(`#${arguments[0]} details tr`)].map((row) => "
                    "[...row.children].map((cell) => cell.textContent))", figure)
    page.run("document.querySelector(`#${arguments[0]} details`).open = false", figure)
    return rows[0], rows[1:]


# What is told of the place under the mouse is a row of the table.
def check_hover(page, figure):
    head, rows = table(page, figure)
    says = [", ".join(f"{name} {cell}" for name, cell in zip(head, row)) for row in rows]
    page.ink(figure)
    canvas = page.browser.find_element(By.CSS_SELECTOR, f"#{figure} canvas")
    seen = set()
    for x in (-0.3, 0.1, 0.4):
        ActionChains(page.browser).move_to_element_with_offset(canvas, int(x * canvas.size["width"]), 10).perform()
        page.settle()
        told = page.browser.find_element(By.CSS_SELECTOR, f"#{figure} .place").text
        check(told in says, f"{figure}: {told!r} is told, which is not in its table")
        seen.add(told)
    check(len(seen) == 3, f"{figure}: three places tell {seen}")


# Tables have the numbers that weft prints.
def check_numbers(page, said):
    for split, side in SIDES:
        wanted = said["splits"][split][side]
        _, lengths = table(page, f"plot-{split}-{side}-lengths")
        texts = sum(int(row[1].replace(",", "")) for row in lengths)
        check(texts == said["splits"][split]["texts"], f"{split}, {side}: {texts} texts")
        _, covered = table(page, f"plot-{split}-{side}-coverage")
        check(covered[-1] == [f"{wanted['distinct']:,}", f"{wanted['tokens']:,}", "100 %"], f"{split}, {side}: {covered[-1]}")
        _, ranks = table(page, f"plot-{split}-{side}-frequencies")
        for row, token in zip(ranks[:10], wanted["frequent"]):
            check(row[1] == f"{token['count']:,}", f"{split}, {side}: {row} for {token}")


def check_hostile(page):
    check(page.browser.title != "taken", "a token was run as a script")
    check(page.run("return document.images.length") == 0, "a token became an image")
    shown = page.run("return [...document.querySelectorAll('td code')].map((cell) => cell.textContent)")
    for token in ("</script><img", "onerror=\"document.title='taken'\"><!--", "\\u202e", "\\x1b[2J"):
        check(token in shown, f"{token} is not among {shown}")


def main():
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    prepare()
    said = json.loads(run("inspect", "pairs", "--statistics", "--json"))
    browser = started()
    try:
        pairs = Page(browser, scratch / "pairs.html")
        wanted = [f"plot-{split}-{side}-{plot}" for split, side in SIDES for plot in PLOTS]
        check(pairs.figures() == wanted, f"the plots are {pairs.figures()}")
        check_numbers(pairs, said)
        for plot in PLOTS:
            check_hover(pairs, f"plot-train-source-{plot}")
        pairs.check_console()
        hostile = Page(browser, scratch / "hostile.html")
        check_hostile(hostile)
        hostile.check_console()
        check_light_and_dark(browser, scratch / "pairs.html", "statistics", keep)
        for name in ("pairs", "hostile"):
            check_phone(browser, scratch / f"{name}.html", f"statistics-{name}", keep)
    finally:
        browser.quit()
    print("browser: all as expected")


if __name__ == "__main__":
    main()
