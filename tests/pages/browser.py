# SPDX-License-Identifier: Apache-2.0
"""A browser without a network, and what any page is asked: for the tests of pages.

Exits with status 77 if chromium, its driver or selenium is missing.
"""

import base64
import pathlib
import shutil
import sys

if not (shutil.which("chromium") and shutil.which("chromedriver")):
    print("no chromium or no chromedriver: tests/packages.txt names their packages")
    sys.exit(77)
sys.path.append("/usr/lib/python3/dist-packages")  # Debian's selenium, whichever python3 runs this
try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
except ImportError as error:
    print(f"{error}: tests/packages.txt names its package")
    sys.exit(77)

HOSTILE = "</script><img src=x onerror=\"document.title='taken'\"><!-- \u202e"


def started(but=()):
    """Without a network, but for these hosts."""
    rules = ",".join(["MAP * ~NOTFOUND", *(f"EXCLUDE {host}" for host in but)])
    options = Options()
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars", f"--host-resolver-rules={rules}",
                     "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)


def check(holds, what):
    if not holds:
        print(f"{pathlib.Path(sys.argv[0]).name}: {what}")
        sys.exit(1)


class Page:
    # keep: the folder for pictures, or None; fingers: the page is touched, and no mouse is there
    def __init__(self, browser, path, width=1200, dark=False, keep=None, fingers=False):
        self.browser, self.path, self.keep = browser, path, keep
        emulate = browser.execute_cdp_cmd
        emulate("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": fingers})
        emulate("Emulation.setTouchEmulationEnabled", {"enabled": fingers})
        emulate("Emulation.setEmulatedMedia",
                {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        browser.get(path.as_uri())

    def run(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    # After the next picture that the browser draws.
    def settle(self):
        self.browser.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => setTimeout(done, 50));")

    def figures(self):
        return [figure.get_attribute("id") for figure in self.browser.find_elements(By.TAG_NAME, "figure")]

    # The number of pixels of a plot's canvases that have a colour, and are less transparent than this (255: opaque).
    def ink(self, figure, least=100):
        self.run("document.getElementById(arguments[0]).scrollIntoView({block: 'center'})", figure)
        self.settle()
        return self.run("""
            let coloured = 0;
            for (const canvas of document.querySelectorAll(`#${arguments[0]} canvas`)) {
              const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', {willReadFrequently: true});
              copy.drawImage(canvas, 0, 0);
              const pixels = copy.getImageData(0, 0, canvas.width, canvas.height).data;
              for (let k = 0; k < pixels.length; k += 4) {
                const spread = Math.max(pixels[k], pixels[k + 1], pixels[k + 2]) - Math.min(pixels[k], pixels[k + 1], pixels[k + 2]);
                if (pixels[k + 3] > arguments[1] && spread > 60) ++coloured;
              }
            }
            return coloured;""", figure, least)

    def check_console(self):
        said = self.browser.get_log("browser")
        check(not said, f"{self.path.name}: the console says {said}")

    # A finger touches the middle of an element, but for this offset, and moves up by so many pixels before it leaves.
    def touch(self, element, right=0, up=0):
        self.run("arguments[0].scrollIntoView({block: 'center', inline: 'center'})", element)
        self.settle()
        x, y = self.run("const box = arguments[0].getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]",
                        element)

        def finger(does, *places):
            points = [{"x": int(x) + right, "y": int(y) - moved} for moved in places]
            self.browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": f"touch{does}", "touchPoints": points})

        finger("Start", 0)
        for moved in range(10, up + 1, 10):
            finger("Move", moved)
        finger("End")
        self.settle()

    def picture(self, name):
        if self.keep:
            self.run("scrollTo(0, 0)")
            self.settle()
            self.browser.save_screenshot(str(self.keep / f"{name}.png"))


def check_width(page):
    wide = page.run("return document.documentElement.scrollWidth")
    check(wide <= page.run("return innerWidth"), f"{page.path.name} is {wide} pixels wide")


# A finger that touches a plot is told of the place when it has left; one that moves over it scrolls the page, and no more.
def check_touch(page, plot, told):
    page.touch(plot)
    said = told()
    check(said, f"{page.path.name}: a tap on a plot tells nothing")
    page.touch(plot, right=60)
    check(told() not in ("", said), f"{page.path.name}: a tap beside it tells {told()!r} again")
    before = page.run("return scrollY")
    page.touch(plot, up=200)
    after = page.run("return scrollY")
    check(after - before > 100, f"{page.path.name}: a finger that moves up scrolls from {before} to {after}")


def check_paper(page):
    made = base64.b64decode(page.browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": False})["data"])
    check(made.startswith(b"%PDF") and len(made) > 20000, f"a print of {len(made)} bytes")
    if page.keep:
        (page.keep / "print.pdf").write_bytes(made)


def check_drawn(page, where, least):
    for figure in page.figures():
        check(page.ink(figure, least=least) > 100, f"{page.path.name}: {figure} is empty {where}")


def check_light_and_dark(browser, path, name, keep, plots=None, least=100):
    """Looks at the page of `path` in both colours and on paper. plots: the figures that it must have, if they are known;
    least: of ink(); name: of its pictures."""
    for dark, back in ((False, "rgb(245, 246, 248)"), (True, "rgb(16, 19, 21)")):
        page = Page(browser, path, dark=dark, keep=keep)
        shown = page.run("return getComputedStyle(document.body).backgroundColor")
        check(shown == back, f"dark {dark}: the page is {shown}")
        check(plots is None or page.figures() == plots, f"the plots are {page.figures()}")
        check_drawn(page, f"with dark {dark}", least)
        page.picture(f"{name}-{'dark' if dark else 'light'}")
        check_paper(page)
        page.check_console()


def check_phone(browser, path, name, keep, least=100):
    phone = Page(browser, path, width=390, keep=keep)
    check_width(phone)
    check_drawn(phone, "on a phone", least)
    phone.picture(f"{name}-phone")
    phone.check_console()
