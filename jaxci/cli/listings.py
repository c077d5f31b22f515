"""The commands ``demo``, ``metrics``, ``methods`` and ``doctor``: what there is, and whether it works."""

from __future__ import annotations

import dataclasses
import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jaxci.cli.options import working

if TYPE_CHECKING:
    import numpy as np

DEMO_SEED = 0
AVERAGES = {
    "binary": "of the positive class",
    "macro": "mean over classes",
    "weighted": "mean over classes by their shares",
    "micro": "all classes pooled",
}
"""What is said of a metric of classes by its ``average``."""


def _every_method(metric: str, data: dict[str, np.ndarray]) -> list[list[Any]]:
    """Return name, bounds and width of every interval for ``metric``, or why there is none."""
    import jaxci
    from jaxci.statistics.registry import statistic_by_name

    second = "score" if "y_score" in statistic_by_name(metric).inputs else "prediction"
    rows: list[list[Any]] = []
    for method in jaxci.list_methods(metric):
        try:
            result = jaxci.interval(metric, data["target"], data[second], method=method, rng=DEMO_SEED)
        except ValueError as error:
            rows.append([method, "", "", "", f"not here: {error}"])
            continue
        low, high = result.confidence_interval
        rows.append([method, float(low), float(high), float(high - low), ""])
    return rows


def demo(
    metric: Annotated[str, typer.Option(metavar="NAME", help="The metric to show every method for.")] = "accuracy",
) -> None:
    """Intervals for real predictions that come with the package, and of one metric by every method."""
    with working("evaluating") as advance, ThreadPoolExecutor(1) as pool:
        import jaxci
        from jaxci.data import load_demo

        data = load_demo()
        # Both at once: a fresh process mostly waits for compilers, which run side by side.
        later = pool.submit(_every_method, metric, data)
        table = jaxci.evaluate(data["target"], data["prediction"], data["score"], rng=DEMO_SEED, progress=advance)
        rows = later.result()
    from jaxci.cli.display import grid, page, show_table

    console = page()
    console.print("A classifier of handwritten digits, 1,000 test images it has not seen.\n")
    show_table(console, table)
    console.print()
    console.print(grid(["method", "low", "high", "width", ""], rows, title=f"{metric}, by every method"))
    console.print("Your own predictions: jaxci evaluate FILE --target COL --pred COL --score COL,...")


def metrics() -> None:
    """List the metrics by name, each with what it reads and a line that says what it is."""
    from jaxci.cli.display import grid, page
    from jaxci.statistics.registry import METRICS

    reads = {"y_pred": "--pred", "y_score": "--score", "values": "values"}
    rows = []
    for name, metric in METRICS.items():
        settings = vars(metric)
        average = settings["scheme"] if settings.get("scheme") == "micro" else settings.get("average")
        scheme = {"ovr": "each against the rest", "ovo": "each against each"}.get(settings.get("scheme", ""))
        words = [_summary(metric), scheme, AVERAGES.get(str(average))]
        rows.append([name, reads[metric.inputs[-1]], "; ".join(filter(None, words))])
    page().print(grid(["metric", "reads", ""], rows))


def methods(
    statistic: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A metric: only what applies to it; or a method: what it is.",
            show_default=False,
        ),
    ] = None,
    n: Annotated[
        int | None,
        typer.Option("--n", metavar="N", help="Rank those of the metric by their coverage in simulations of N rows."),
    ] = None,
    difference: Annotated[bool, typer.Option("--difference", help="Those for the difference of two models.")] = False,
) -> None:
    """List the interval methods by name, each with a line that says what it is."""
    import jaxci
    from jaxci.checks import hint
    from jaxci.cli.display import grid, page, show_table
    from jaxci.intervals.registry import METHODS, difference_methods
    from jaxci.statistics.registry import METRICS

    named = difference_methods() | METHODS
    if statistic in named:
        if n is not None or difference:
            raise ValueError(f"{'--difference' if n is None else '--n'} goes with a metric; {statistic!r} is a method")
        page().print(_told_of(statistic, named[statistic]))
        return
    if statistic is not None and statistic not in METRICS and (like := hint(statistic, named)).endswith("?"):
        raise ValueError(f"{statistic!r} is neither a metric nor a method{like}")
    if n is not None:
        from jaxci.coverage import card

        if statistic is None:
            raise ValueError("--n ranks the methods of one metric: name it before; got none")
        if difference:
            raise ValueError("--n reads cards of one model; --difference has none yet: leave one out")
        show_table(page(), card(statistic).at(n))
        return
    rows = []
    family = difference_methods() if difference else METHODS
    for name in family if statistic is None else jaxci.list_methods(statistic, difference=difference):
        rows.append([name, _summary(family[name])])
    page().print(grid(["method", ""], rows))


def _told_of(name: str, method: Any) -> str:
    """Return what a method is, its settings, and which metrics it serves, of one model and of two."""
    import jaxci
    from jaxci.statistics.registry import METRICS

    settings = ", ".join(f"{field.name}={field.default!r}" for field in dataclasses.fields(method))
    told = [f"{name}: {_summary(method)}", f"settings: {settings or 'none'}"]
    for difference, whose in ((False, "one model"), (True, "the difference of two")):
        for rows, able in (
            ("rows", partial(jaxci.list_methods, difference=difference)),
            ("rows in clusters", partial(jaxci.list_methods, difference=difference, groups=True)),
            ("rows in the order of time", partial(jaxci.list_methods, difference=difference, resampling="stationary")),
        ):
            serving = [metric for metric in METRICS if name in able(metric)]
            told.append(f"of {whose}, {rows}: {', '.join(serving) or 'no metric'}")
    return "\n".join([*told, f"more in Python: help({method.__module__}.{method.__name__})"])


def _summary(thing: Any) -> str:
    """Return the first line of a docstring in plain words, without formulas and references."""
    line = (thing.__doc__ or "").split("\n")[0]
    line = re.sub(r"; see :func:`\w+`| \(:class:`\w+`\)", "", line)
    line = re.sub(r":\w+:`(\w+)`", lambda match: match[1].lower(), line)
    return re.sub(r"[,:;] [^,:;`]*``[^`]* [^`]*``[^:;]*", "", line).replace("``", "").rstrip(".")
