"""Messages of the library speak of options on the command line."""

import pytest

pytest.importorskip("typer")

from jaxci.cli import main
from jaxci.cli.words import Flags, in_flags

KNOWN = {
    "level": "--level",
    "resamples": "--resamples",
    "target": "--target",
    "score": "--score",
    "weights": "--weights",
    "weight_type": "--weight-type",
    "metrics": "--metrics",
    "calibrate": "--calibrate",
    "labels": "--labels",
    "pos_label": "--pos-label",
    "resampling": "--resampling",
    "bounds": "--bounds",
    "width": "--width",
    "difference": "--difference",
    "loss": "--loss",
    "scoring": "--scoring",
    "cv": "--cv",
}


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("confidence_level must lie in (0, 1); got 95.0", "--level must lie in (0, 1); got 95.0"),
        ("n_resamples must be at least 1; got 0", "--resamples must be at least 1; got 0"),
        ("roc_auc needs y_score, which was not given", "roc_auc needs --score, which was not given"),
        ("column 'y_true' is missing", "column 'y_true' is missing"),
        ("/data/y_true.csv cannot be read", "/data/y_true.csv cannot be read"),
        ("labels must be of one type; y_true has dtype uint8", "labels must be of one type; --target has dtype uint8"),
        (
            "sample_weight must be whole numbers with weight_type='frequency'",
            "--weights must be whole numbers with --weight-type frequency",
        ),
        (
            "name the metrics, such as metrics=['mean_absolute_error'])",
            "name the metrics, such as --metrics mean_absolute_error)",
        ),
        ("use calibrate=True, or more data", "use --calibrate, or more data"),
        ("use method='wilson': the narrowest", "use --method wilson: the narrowest"),
        ("is 'spoof' (pass pos_label to change it)", "is 'spoof' (pass --pos-label to change it)"),
        ("pass labels, or pass metrics, to say otherwise", "pass --labels, or pass --metrics, to say otherwise"),
        ("(pass labels to name classes that do not occur)", "(pass --labels to name classes that do not occur)"),
        (
            "accuracy has no option 'bounds', and method 'auto' has none",
            "accuracy has no option --bounds, and method 'auto' has none",
        ),
        ("width, or power with a difference, must be given", "--width, or power with a difference, must be given"),
        (
            "power must be given with difference: the probability",
            "power must be given with --difference: the probability",
        ),
        (
            "loss and scoring must not both be given; got 'squared'",
            "--loss and --scoring must not both be given; got 'squared'",
        ),
        ("cv, which is n_folds: n_folds must be 2", "--cv must be 2"),
        ("y_true must be an array; got None", "--target must be given"),
        ("a mean of the level of x=y", "a mean of the level of x=y"),
    ],
)
def test_options_stand_for_arguments(said, shown):
    flags = Flags()
    flags.known = KNOWN
    assert in_flags(said, flags) == shown
    assert in_flags(said, Flags()) == said


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("evaluate FILE --target y --pred g --level 95", "--level must lie in (0, 1); got 95.0"),
        ("evaluate FILE --target y --pred g --metrics roc_auc", "roc_auc needs --score, which was not given"),
        ("evaluate FILE --target y --score z --metrics accuracy", "no probabilities, of which --threshold 0, say"),
        ("compare FILE --pred-a g --pred-b h --metric accuracy", "--target must be given"),
        ("compare FILE --target x --score-a g --score-b h --metric roc_auc_ovr", "--score-a must have shape"),
        ("check FILE --target y --pred g --metric accuracy --methods foo", "--methods must be one of z, t"),
        ("check FILE --pred g --metric accuracy", "accuracy takes 2 arrays (--target, --pred); got 1"),
        ("leaderboard FILE --target y --metric accuracy --models g", "--models must name at least two models; got 1"),
        ("leaderboard FILE --metric mean --models g", "--models must name at least two models; got 1"),
        ("leaderboard FILE --target y --metric recall --models z,g", "'z' of --models must hold class labels"),
        ("leaderboard FILE --target y --metric recall --models z,g", "(scores belong in metrics that read them;"),
        ("leaderboard FILE --target y --metric recall --models z,g", "such as --metric mean_absolute_error)"),
        (
            "compare FILE --target y --pred-a z --pred-b g --metric recall",
            "(scores belong in --score-a and --score-b and",
        ),
        (
            "compare FILE --target y --score-a z --score-b z --metric recall",
            "(scores belong in metrics that read them;",
        ),
        ("quantile FILE --column word", "--column must hold numbers"),
        ("generalization FILE --target y --model ridge --features h --cv 1", "--cv must be an integer of at least 2"),
        ("study new x.toml --design proportions --replications 0", "--replications must be at least 2; got 0"),
        ("plan mean --mean 0.5 --width 0.1", "--mean needs --sd"),
        ("plan f1 --expected 0.8 --width 0.1", "Pass --table; --prevalence, --sensitivity and --specificity"),
        ("plan roc_auc --expected 0.8 --width 0.1", "got 0.8. Pass --auc and --prevalence, or --pilot"),
        ("plan mean --expected 0.8 --width 0.1", "got 0.8. Pass --mean and --sd, or --pilot"),
        ("plan r2 --expected 0.8 --width 0.1", "got 0.8. Pass --pilot with --target and --pred"),
        ("plan roc_auc --auc 0.8 --width 0.1", "--prevalence is needed; got --auc"),
        (
            "plan f1 --prevalence 0.1 --sensitivity 0.9 --width 0.1",
            "--specificity is needed, on which f1 depends; got --prevalence, --sensitivity",
        ),
        (
            "plan accuracy --pilot FILE --pred g --width 0.1",
            "--target is needed, pilot data that accuracy reads",
        ),
        ("plan roc_auc --prevalence 0.1 --width 0.1", "--auc is needed, on which roc_auc depends; got --prevalence"),
        (
            "plan mean --mean 3 --sd 1 --auc 0.4 --width 0.1",
            "--auc must be left out: what is read is --mean, --sd",
        ),
        ("plan mean --pilot FILE --pred g --width 0.1", "Pass --mean and --sd, or --pilot with --values"),
    ],
)
def test_errors_of_commands(capsys, tmp_path, monkeypatch, arguments, told):
    monkeypatch.chdir(tmp_path)
    rows = [f"{i % 2},{i % 3 % 2},{i % 5 % 2},{'ab'[i % 2]},{i % 3},{i / 8}" for i in range(20)]
    (tmp_path / "rows.csv").write_text("\n".join(["y,g,h,word,x,z", *rows]) + "\n")
    assert main(arguments.replace("FILE", "rows.csv").split()) == 2
    assert told in capsys.readouterr().err


def test_a_method_that_is_misspelt_is_told(capsys):
    assert main(["methods", "wilsn"]) == 2
    assert "'wilsn' is neither a metric nor a method: did you mean 'wilson'?" in capsys.readouterr().err
    assert main(["methods", "acuracy"]) == 2
    assert "did you mean 'accuracy'?" in capsys.readouterr().err
