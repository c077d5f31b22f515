"""Intervals for a model's metrics: many at once, or one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from jaxci.api.readers.arrays import as_floats
from jaxci.api.readers.indexes import of_indexes
from jaxci.api.readers.label_remarks import of_many_numbers, of_near_classes, of_near_names
from jaxci.api.readers.labelled import Labelled
from jaxci.api.readers.labels import is_classification, label_values
from jaxci.api.readers.layout import arranged
from jaxci.api.readers.metrics import chosen_metrics, is_of_values, is_regression, named_metrics
from jaxci.api.readers.samples import as_threshold, check_n, check_threshold, regression_sample
from jaxci.api.subgroups import Rows, by_group
from jaxci.checks import check_options
from jaxci.inference.engine import intervals
from jaxci.inference.randomness import Randomness, randomness
from jaxci.inference.remarks import announce, layout_remarks
from jaxci.inference.request import Request
from jaxci.inference.settings import Settings
from jaxci.intervals.base import Method
from jaxci.results import EvaluationTable
from jaxci.statistics.base import Statistic, TableStatistic
from jaxci.statistics.registry import configured
from jaxci.statistics.sample import Sample


def evaluate(
    y_true: Any,
    y_pred: Any = None,
    y_score: Any = None,
    *,
    metrics: Iterable[Any] | None = None,
    method: str | Method = "auto",
    confidence_level: float = 0.95,
    n_resamples: int | None = None,
    alternative: str = "two-sided",
    groups: Any = None,
    strata: Any = None,
    labels: Sequence[Any] | None = None,
    pos_label: Any = None,
    zero_division: float = 0,
    absent_class: str = "sklearn",
    sample_weight: Any = None,
    weight_type: str = "importance",
    rng: Any = None,
    resampling: str = "bootstrap",
    block_length: float | str = "auto",
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    check: bool = False,
    by: Any = None,
    threshold: float | None = None,
) -> EvaluationTable:
    """Confidence intervals for several metrics of one model, which share their resamples.

    Parameters
    ----------
    y_true : (n,) array_like
        Class labels (numbers, strings, booleans) or regression targets; or, alone, values of cases (such as Dice),
        where ``metrics`` are summaries of these ("mean", "median", "std"). Where neither ``metrics``, ``labels`` nor
        ``y_score`` tells, whole numbers are labels if they have at most 20 distinct values, or one in 20 rows (of
        10,000 at most), or are of a categorical type; a remark says that more are not.
    y_pred : (n,) array_like, optional
        Predicted labels or values. Where only ``y_score`` is given, labels are derived from
        it and the table says so.
    y_score : (n,) or (n, K) array_like, optional
        Scores of the positive class, or one column a class in the order of ``labels``. Columns of a
        frame that are named by the labels may come in any order; with other names they are taken by position, which a
        remark says.
    metrics : iterable of str or Statistic, optional
        Names (see :func:`jaxci.list_metrics`) or objects; ``"f1_per_class"`` and the like
        give a row a class. By default a set that suits the target and what was given.
    method : str or Method
        One method for all metrics, or "auto" (each row says what was chosen and why).
    confidence_level : float
        Between 0 and 1.
    n_resamples : int, optional
        Bootstrap resamples B, where a method draws any. By default "percentile", "expanded_percentile", "basic",
        "normal", "bc" and "bca" are read from the exact bootstrap distribution, the limit of infinitely many resamples,
        where it is known (means, shares, quantiles, ratios of counts or sums such as precision, recall and F-beta of
        one class; of weighted rows and of clusters, means and such ratios), and from 9,999 resamples elsewhere.
    alternative : {"two-sided", "less", "greater"}
        "less" gives upper bounds, "greater" lower bounds.
    groups : (n,) array_like, optional
        Cluster of every row (patient, speaker, game): clusters are resampled, not rows.
    strata : (n,) array_like, optional
        Stratum of every row: resampled within strata.
    labels : sequence, optional
        The K classes in the order of the score columns. By default, where ``y_true`` is an ordered categorical of
        pandas, its categories in their order: those that occur, or all where scores have a column for each. Else the
        sorted labels seen.
    pos_label : label, optional
        The positive class of a binary problem. By default 1, or the second of ``labels`` where 1 is none of them, which
        a remark then says.
    zero_division : {0, 1, nan}
        Value of a ratio 0/0.
    absent_class : {"sklearn", "zero", "skip"}
        What a class counts that is absent from a resample.
    sample_weight : (n,) array_like, optional
        Case weights; rows of weight 0 leave. Importance weights that are huge, or no whole numbers, are rescaled to
        sum to n.
    weight_type : {"importance", "frequency"}
        "importance": a row of weight w is one observation that counts w times as much (as to match a population), and
        the interval allows for it: its precision is that of ``sum(w)**2 / sum(w**2)`` rows. "frequency": w counts how
        many times a row was seen, and every result is that of the repeated rows; a class that no row is left of stays
        a class, as with ``labels``.
    rng : int, numpy.random.Generator, JAX key or None
        Source of randomness; recorded in the result.
    resampling, block_length
        As in :func:`jaxci.interval`: "stationary" where rows, in the order of time, depend on those before.
    memory_limit : int, optional
        Bytes a chunk of resamples may use; by default chosen from the device.
    progress : callable, optional
        Called with (resamples done, resamples in all).
    check : bool
        Whether to measure the coverage of every row's method on data like these, as
        :func:`jaxci.check_coverage` does (2,000 simulated data sets). For two-sided intervals of
        rows without weights, independent or in clusters.
    by : (n,) array_like, or dict or frame of them, optional
        Group of every row: the metrics are also given for every group of every column, and of their crossing, with
        differences to the rest and to all rows that hold together, adjusted p-values and the largest gap. Groups may be
        intervals, as of ``pandas.cut``, periods or dates; ordered categories come in their order.
    threshold : float, optional
        Of two classes, the least ``y_score`` (where columns are no probabilities: the difference of both) that counts
        as positive, where ``y_pred`` is not given; by default 0.5 of probabilities. Choose it on other rows than
        these: intervals do not allow for a choice.

    Returns
    -------
    EvaluationTable
        One :class:`~jaxci.results.IntervalResult` a metric; with ``by`` a
        :class:`~jaxci.api.subgroup_results.SubgroupTable`, which holds the groups too.

    Raises
    ------
    ValueError, TypeError
        If an argument breaks its rule; the message names the argument, the rule and the value.

    Warns
    -----
    JaxciWarning
        Once for each remark that the table also holds.

    Notes
    -----
    Cost with the default bootstrap: metrics of a confusion matrix O(B K^2), free of n;
    others O(B n). Observations, or clusters, are assumed independent, unless blocks of rows are resampled.

    With ``by``, groups are taken as given: each is resampled for itself, with the interval that suits it. A difference
    of two of them has the interval that follows from theirs [1]_, widened so that those of a column and metric hold
    together: by the largest of normal draws with the standard errors of the groups. Where clusters have rows in several
    groups, differences have t intervals by the deviation of resamples of clusters, of fewer than 30 of them adjusted by
    Holm and Bonferroni, and, but for means of bounded values, reach at least as far as the groups' own say. Means of
    values without a bound take the spread of 100 rows from all others. The interval of the largest gap goes from the
    largest lower end to the largest upper end of all pairs, and holds the largest true gap whenever these intervals
    hold the true differences.

    References
    ----------
    .. [1] Zou (2007), Toward Using Confidence Intervals to Compare Correlations: variances recovered from intervals.

    Examples
    --------
    >>> import numpy as np, jaxci
    >>> y = np.array([0, 1, 1, 0, 1, 1, 0, 1, 0, 1] * 20)
    >>> guess = np.where(np.arange(200) % 7 == 0, 1 - y, y)
    >>> table = jaxci.evaluate(y, guess, metrics=["accuracy", "f1"], rng=0)
    >>> round(table["accuracy"].estimate, 3)
    0.855
    """
    settings = Settings.of(
        confidence_level,
        alternative,
        n_resamples,
        resampling=resampling,
        block_length=block_length,
        memory_limit=memory_limit,
        progress=progress,
    )
    conventions = check_options({"zero_division": zero_division, "absent_class": absent_class})
    source = randomness(rng)
    if by is not None and (check or alternative != "two-sided" or not settings.plain):
        raise ValueError(
            "by needs two-sided intervals and independent rows or clusters, without check=True; got "
            f"alternative={alternative!r}, {settings.scheme}, check={check}"
        )
    threshold = as_threshold(threshold)
    check_threshold(threshold, y_pred, y_score)
    read = read_data(y_true, y_pred, y_score, metrics, conventions, method, labels, pos_label, threshold)
    given = {"groups": groups, "strata": strata, "sample_weight": sample_weight}
    paired = of_indexes({"y_true": y_true, "y_pred": y_pred, "y_score": y_score, **given, "by": by})
    read = read._replace(remarks=(*paired, *read.remarks))
    table = table_of(read, settings, source, **given, weight_type=weight_type, check=check)
    if by is not None:
        columns = {name: None if x is None else label_values(name, x) for name, x in given.items()}
        table = by_group(Rows(read.sample, read.requests, settings, source, columns, weight_type), table, by)
    announce(table.remarks)
    return table


class Reading(NamedTuple):
    """What users pass, read: the sample, what is asked of it, and what is to be said of the data."""

    sample: Sample
    requests: tuple[Request, ...]
    remarks: tuple[str, ...]


def read_data(
    y_true: Any,
    y_pred: Any,
    y_score: Any,
    metrics: Iterable[Any] | None,
    conventions: Mapping[str, Any],
    method: str | Method,
    labels: Sequence[Any] | None,
    pos_label: Any,
    threshold: float | None = None,
    counts: Any = None,
) -> Reading:
    """Return the sample of a model and one request a metric; a row stands for as many as ``counts`` says, if given."""
    named = None if metrics is None else named_metrics(metrics)
    without_classes = {"labels": labels, "pos_label": pos_label}
    if is_of_values(named):
        _refuse_unread({"y_pred": y_pred, "y_score": y_score, **without_classes}, "summarize values", named)
        sample = Sample(values=as_floats("y_true", y_true))
        return Reading(sample, _requests(chosen_metrics(named, sample, None), conventions, method), ())
    if y_pred is None and y_score is None:
        raise TypeError("y_pred or y_score must be given; both are None")
    if named is None:
        regression = y_score is None and labels is None and not is_classification(y_true)
    else:
        regression = is_regression(named)
    labelled = None
    if regression:
        sample = regression_sample(y_true, y_pred)
        _refuse_unread({"y_score": y_score, **without_classes}, "are of a regression", named)
    else:
        columns = {"y_true": y_true} if y_pred is None else {"y_true": y_true, "y_pred": y_pred}
        scores = {} if y_score is None else {"y_score": y_score}
        labelled = Labelled.of(columns, scores, labels=labels, pos_label=pos_label, counts=counts)
        if y_pred is None:
            labelled = labelled.with_derived_labels(threshold)
        sample = labelled.sample("y_pred", "y_score")
    chosen = chosen_metrics(named, sample, labelled)
    said: Sequence[str] = ()
    if labelled is not None:
        said = labelled.remarks_for(statistic for _, statistic in chosen)
        if named is None and labels is None and y_score is None:
            said = [*said, *of_near_classes(y_true, y_pred)]
    elif named is None:
        said = of_many_numbers("y_true", y_true, y_pred, "pass labels, or pass metrics, to say otherwise")
    return Reading(sample, _requests(chosen, conventions, method), tuple(said))


def _requests(
    chosen: Sequence[tuple[str, Statistic]], conventions: Mapping[str, Any], method: str | Method
) -> tuple[Request, ...]:
    return tuple(Request(name, configured(statistic, conventions)[0], method) for name, statistic in chosen)


def _refuse_unread(given: Mapping[str, Any], what: str, named: Sequence[tuple[str, Any]] | None) -> None:
    """Refuse arguments that metrics would not read."""
    names = "the default ones" if named is None else ", ".join(name for name, _ in named)
    for argument, value in given.items():
        if value is not None:
            raise ValueError(f"{argument} must not be given with metrics that {what} and do not read it; got {names}")


def table_of(
    read: Reading,
    settings: Settings,
    source: Randomness,
    *,
    groups: Any,
    strata: Any,
    sample_weight: Any,
    weight_type: str,
    check: bool = False,
    counted: bool = False,
) -> EvaluationTable:
    """Return the table of :func:`evaluate` without announcing its remarks.

    ``counted``: whether rows of a frequency stay counted where they are many, though metrics read more than a table.
    """
    if sample_weight is None:
        check_n(read.sample)
    tables = all(isinstance(request.statistic, TableStatistic) for request in read.requests)
    countable = counted or (tables and strata is None and not check)
    sample, layout = arranged(read.sample, groups, strata, sample_weight, weight_type, countable=countable)
    settings.check_layout(layout)
    near = of_near_names({"groups": groups, "strata": strata})
    remarks = (*read.remarks, *near, *layout_remarks(layout))
    rows = intervals(read.requests, sample, layout, settings, source)
    if check:
        from jaxci.api.check import with_coverage

        got = ["sample_weight"] * (layout.row_weights is not None)
        got += [f"alternative={settings.alternative!r}"] * (settings.alternative != "two-sided")
        got += [settings.scheme] * (not settings.plain)
        if got:
            needs = "rows without weights, resampled one by one or in their clusters, and two-sided intervals"
            raise ValueError(f"check=True needs {needs}; got {' and '.join(got)}")
        rows = with_coverage(rows, {r.name: r.statistic for r in read.requests}, sample, layout, source)
    return EvaluationTable(tuple(rows), layout.n, source.record, remarks)
