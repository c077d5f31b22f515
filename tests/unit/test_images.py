"""The images: what their files say, and their steps without an engine."""

import re
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCKER = ROOT / "docker"
IMAGES = ("cpu", "cuda")


def pins(image):
    lines = (DOCKER / f"requirements-{image}.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def extras(image):
    names = re.search(rf'"{image}": "([\w,]+)"', (DOCKER / "lock.py").read_text())
    return names[1].split(",")


def name_of(line):
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", line)[0]).lower()


@pytest.mark.parametrize("image", IMAGES)
def test_every_dependency_is_locked_and_nothing_has_an_address(image):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(line for e in extras(image) for line in project["optional-dependencies"][e])]
    names = set(map(name_of, wanted))
    assert names <= set(pins(image))
    for line in wanted:
        low = re.search(r">=([\d.]+)", line)
        version = pins(image)[name_of(line)]
        assert [*map(int, re.findall(r"\d+", version))] >= [*map(int, low[1].split("."))], line
    assert "/" not in (DOCKER / f"requirements-{image}.txt").read_text().split("\n", 1)[1]


@pytest.mark.parametrize("image", IMAGES)
def test_dependencies_are_a_layer_before_the_source_and_nobody_is_root(image):
    lines = (DOCKER / f"Dockerfile.{image}").read_text().splitlines()
    order = [
        "FROM python:3.11-slim",
        f"RUN sh docker/install.sh dependencies {image}",
        "COPY jaxci jaxci",
        "USER jaxci",
        'ENTRYPOINT ["jaxci"]',
    ]
    assert [line for line in lines if line in order] == order
    copied = [word for line in lines if line.startswith("COPY") for word in line.split()[1:-1]]
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert set(copied) <= set(kept)
    assert all((ROOT / path).exists() for path in kept)


@pytest.mark.parametrize("image", IMAGES)
def test_what_is_cached_is_written_where_every_user_may(image):
    """A user whom the image does not know has no home, of which matplotlib would complain."""
    lines = (DOCKER / f"Dockerfile.{image}").read_text().splitlines()
    assert "ENV XDG_CACHE_HOME=/cache MPLCONFIGDIR=/cache/matplotlib" in lines
    assert any("mkdir -m 1777 /cache" in line for line in lines)


def test_the_commands_of_the_study_are_typed_as_they_stand():
    """What they set reaches the engine: bash does not let UID be set, and does not hand it on."""
    page = (DOCKER / "compose.yaml").read_text()
    read = set(re.findall(r"\$\{(\w+):-", page)) - {"PWD"}
    commands = re.findall(r"^#   (.*) docker compose -f docker/compose.yaml run --rm \w+$", page, re.MULTILINE)
    assert len(commands) == 2
    for sets in commands:
        shown = subprocess.run(["bash", "-c", f"{sets} env"], capture_output=True, text=True, check=True)
        assert shown.stderr == ""
        assert read <= {line.split("=")[0] for line in shown.stdout.splitlines()}


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the images have Python 3.11, of which the versions are")
def test_the_steps_without_an_engine(tmp_path):
    """Dependencies that this environment has in the versions wanted are not installed again."""
    env = tmp_path / "image" / "env"
    subprocess.run([sys.executable, "-m", "venv", env], check=True)
    (inside,) = env.glob("lib/python*/site-packages")
    (inside / "these.pth").write_text(sysconfig.get_path("purelib") + "\n")
    script = ["sh", str(DOCKER / "without_docker.sh"), str(tmp_path / "image"), "cpu"]
    data = tmp_path / "image" / "data"
    data.mkdir()
    (data / "rows.csv").write_text("y,g\n" + "\n".join(f"{i % 2},{i % 3 % 2}" for i in range(30)) + "\n")
    wanted = ["evaluate", "rows.csv", "--target", "y", "--pred", "g", "--metrics", "accuracy", "--json", "out.json"]
    found = subprocess.run([*script, *wanted], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert (data / "out.json").exists()
    assert "Successfully installed" in found.stdout
    assert not (tmp_path / "image" / "src" / "tests").exists()
