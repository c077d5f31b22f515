"""Imports run downward: a room knows only the rooms below it."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest

from jaxci.intervals.registry import DIFFERENCES, METHODS
from jaxci.statistics.registry import METRICS

PACKAGE = Path(__file__).resolve().parents[2] / "jaxci"

FLOORS = (
    {
        "records",
        "tracing",
        "quick",
        "checks",
        "printing",
        "results",
        "special",
        "importing",
        "compiled",
        "whole_files",
        "index_columns",
    },
    {"statistics", "resampling", "distributions", "inducers", "segmentation"},
    {"intervals", "generalization"},
    {"inference"},
    {"coverage"},
    {"api", "runs", "curves"},
    {"plots", "report", "cli", "data"},
    {"__main__"},
)
"""Rooms from the ground up; rooms of one floor may know each other, unless their files form a circle."""

DOORS = {("jaxci.coverage.results", "jaxci.report.study"), ("jaxci.printing", "jaxci.plots.results")}
"""Methods of results that open a room above, which loads on first use: ``results.report(path)``, ``result.plot()``."""

ENTRIES = {
    "jaxci.statistics": {type(statistic).__name__ for statistic in METRICS.values()},
    "jaxci.intervals": {cls.__name__ for cls in (*METHODS.values(), *DIFFERENCES.values())},
}
"""Classes in the registries of statistics and of interval methods, by the room that defines them."""

ASK_BASES = {
    "inference": ("jaxci.statistics", "jaxci.intervals"),
    "coverage": ("jaxci.statistics",),
    "api": ("jaxci.statistics",),
}
"""Rooms that ask for the typed base of an entry, not for its class, and the families of which they do."""

FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}


@functools.cache
def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def imported(path: Path) -> list[str]:
    """Modules of the package that a file imports, anywhere in it, doors aside."""
    names = {name_of(other) for other in modules()}
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "jaxci":
            parts = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [whole if whole in names else str(node.module) for whole in parts]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] == "jaxci"]
    return [other for other in found if (name_of(path), other) not in DOORS]


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_imports_run_downward(path: Path) -> None:
    mine = room_of(name_of(path))
    upward = [other for other in imported(path) if room_of(other) and FLOOR[room_of(other)] > FLOOR[mine]]
    assert not upward, f"{name_of(path)} imports {upward} from rooms above its own"
    if mine != "cli":
        assert "jaxci" not in imported(path), f"{name_of(path)} imports the package itself"


def test_every_room_has_a_floor() -> None:
    assert {room_of(name_of(path)) for path in modules()} - {""} <= set(FLOOR)


def test_no_circle_of_files() -> None:
    graph = {name_of(path): {x for x in imported(path) if x != name_of(path)} for path in modules()}
    done: set[str] = set()
    open_: list[str] = []

    def visit(module: str) -> None:
        assert module not in open_, f"a circle of imports: {' -> '.join([*open_[open_.index(module) :], module])}"
        if module in done or module not in graph:
            return
        open_.append(module)
        for other in sorted(graph[module]):
            visit(other)
        done.add(open_.pop())

    for module in graph:
        visit(module)


def classes_asked_for(tree: ast.AST, families: tuple[str, ...]) -> set[str]:
    """Entries of the registries that ``isinstance``, ``issubclass``, ``type(x) is`` or ``case`` of a file tests for."""
    home = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(families):
            entries = ENTRIES[".".join(str(node.module).split(".")[:2])]
            home |= {alias.asname or alias.name: alias.name for alias in node.names if alias.name in entries}
    tested: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
            tested.append(node.args[1])
        elif isinstance(node, ast.Compare) and "type(" in ast.unparse(node):
            tested.append(node)
        elif isinstance(node, ast.MatchClass):
            tested.append(node.cls)
    names = {node.id for one in tested for node in ast.walk(one) if isinstance(node, ast.Name)}
    return {home[name] for name in names & set(home)}


@pytest.mark.parametrize("path", [path for path in modules() if room_of(name_of(path)) in ASK_BASES], ids=name_of)
def test_capabilities_are_asked_of_bases(path: Path) -> None:
    assert not classes_asked_for(ast.parse(path.read_text()), ASK_BASES[room_of(name_of(path))])


@pytest.mark.parametrize(
    "test",
    ["isinstance(x, Mean)", "issubclass(x, str | Mean)", "isinstance(x, (int, Average))", "type(x) is Mean"],
)
def test_a_test_for_a_class_is_seen(test: str) -> None:
    imports = (
        "from jaxci.statistics.summary import Mean, MeanStatistic\nfrom jaxci.statistics.summary import Mean as Average"
    )
    assert classes_asked_for(ast.parse(f"{imports}\n{test}"), ("jaxci.statistics",)) == {"Mean"}
    others = f"{imports}\nisinstance(x, MeanStatistic)\nMean()"
    assert not classes_asked_for(ast.parse(others), ("jaxci.statistics",))
