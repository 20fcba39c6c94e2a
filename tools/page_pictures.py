"""Takes the pictures of pages in the docs again, with Debian's Chromium (part of `make golden`)."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import dlasim

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
WIDTH, HEIGHT = 1100, 900


def main() -> int:
    """The timeline and SRAM map of a run, and the front and parallel coordinates of a sweep."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("the pictures of pages need Debian's package chromium")
    with TemporaryDirectory() as temporary, sync_playwright() as driver:
        folder = Path(temporary)
        run = dlasim.run("resnet8", sram="64KiB", timing_only=True).to_html(folder / "run.html")
        axes = {"pes": [16, 32, 64, 128], "sram": "8KiB..128KiB", "parallel": ["input", "output"]}
        swept = dlasim.sweep("resnet8", jobs=1, **axes).to_html(folder / "sweep.html")
        flags = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=chromium, args=flags)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=1)
        for path, first, last, picture in (
            (run, "timeline", "timeline", "page.png"),
            (swept, "front", "parallel", "sweep-page.png"),
        ):
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-ready]", timeout=60_000)
            page.wait_for_timeout(1000)
            page.evaluate("document.querySelector('header.bar').style.position = 'static'")
            boxes = [page.locator(f"section#{name}").bounding_box() for name in (first, last)]
            top, end = boxes[0]["y"], boxes[1]["y"] + boxes[1]["height"]
            clip = {"x": 0, "y": top, "width": WIDTH, "height": end - top}
            page.screenshot(path=IMAGES / picture, full_page=True, clip=clip)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
