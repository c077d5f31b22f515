"""Write the requirements files of the images: every package that the extras in pyproject.toml need, by version.

The images have the Python of the tests, so that their versions are the tested ones. Run it with that Python in the
root of the repository: ``python docker/lock.py``.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = {"cpu": "cli,plot,data", "cuda": "cli,plot,data,cuda13"}
"""Extras of each image."""


def locked(extras: str) -> list[str]:
    """Return what pip would install for these extras, the package itself left out."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "-q", "--dry-run", "--ignore-installed"]
        subprocess.run([*command, "--report", str(report), f"{ROOT}[{extras}]"], check=True)
        found = [item["metadata"] for item in json.loads(report.read_text())["install"]]
    return sorted(f"{plain(one['name'])}=={one['version']}" for one in found if one["name"] != "jaxci")


def plain(name: str) -> str:
    """Return the name of a package as all its spellings have it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def main() -> None:
    """Write both files."""
    for image, extras in EXTRAS.items():
        head = f"# Of the extras {extras} in pyproject.toml, written by docker/lock.py.\n"
        (ROOT / "docker" / f"requirements-{image}.txt").write_text(head + "\n".join(locked(extras)) + "\n")


if __name__ == "__main__":
    main()
