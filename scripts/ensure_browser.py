"""Finds a Chromium for the browser tests, or gets one; says so loudly when there is none."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
APPLICATION = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
DOWNLOAD_SECONDS = 300


def find() -> str | None:
    """Return the path of a Chromium that tests can drive."""
    named = os.environ.get("RECOUNT_CHROMIUM")
    if named:
        return named if os.access(named, os.X_OK) else None
    installed = next(filter(None, map(shutil.which, NAMES)), None)
    return installed or (str(APPLICATION) if APPLICATION.exists() else _of_playwright())


def _of_playwright() -> str | None:
    question = (
        "from playwright.sync_api import sync_playwright as p\n"
        "with p() as play: print(play.chromium.executable_path)"
    )
    told = subprocess.run([sys.executable, "-c", question], capture_output=True, text=True)
    path = told.stdout.strip()
    return path if path and Path(path).exists() else None


def install() -> None:
    if os.geteuid() == 0 and shutil.which("apt-get"):
        _apt()
    if find() is None:
        _download()


def _apt() -> None:
    print("Installing chromium for the browser tests ...", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    wanted = ["install", "-y", "--no-install-recommends", "chromium", "fonts-dejavu-core"]
    for arguments in (["update"], wanted):
        subprocess.run(["apt-get", "-qq", *arguments], env=environment, stdout=subprocess.DEVNULL)


def _download() -> None:
    print("Downloading Playwright's Chromium for the browser tests ...", flush=True)
    command = [sys.executable, "-m", "playwright", "install", "chromium"]
    try:
        subprocess.run(command, timeout=DOWNLOAD_SECONDS)
    except subprocess.TimeoutExpired:
        print(f"No Chromium after {DOWNLOAD_SECONDS} s.")


def main() -> int:
    if find() is None and not os.environ.get("RECOUNT_CHROMIUM"):
        install()
    if find() is None:
        print("!!! BROWSER TESTS ARE SKIPPED: no Chromium found; name one in RECOUNT_CHROMIUM. !!!")
        # Where everything is required, a missing browser is a failure and not a remark.
        return 1 if os.environ.get("RECOUNT_REQUIRE_ALL") else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
