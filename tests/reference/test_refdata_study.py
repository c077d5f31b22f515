"""The classification study on logits of real classifiers, in a small version, from file to report."""

import numpy as np
import pytest

from jaxci.cli import main
from jaxci.coverage import load_study

pytest.importorskip("typer")
pytest.importorskip("matplotlib")
pytestmark = [pytest.mark.refdata, pytest.mark.slow]


def test_real_logits_from_file_to_report(refdata, tmp_path, capsys):
    data = refdata / "hyperkvasir_therapeutic-interventions_test.csv"
    if not data.is_file():
        pytest.skip(f"{data.name} is not beside the checkout")
    file, out = tmp_path / "study.toml", tmp_path / "results"
    columns = ["--data", data, "--target", "target", "--score", "logit_0,logit_1"]
    new = ["study", "new", file, "--design", "classification", *columns]
    small = ["--sizes", "50", "--replications", "40", "--resamples", "99", "--groups", "4"]
    for command in ([*new, *small], ["study", "run", file, "--out", out], ["study", "report", file, "--out", out]):
        assert main([str(part) for part in command]) == 0, capsys.readouterr().err
    frame = load_study(file).results(out).to_frame()
    assert set(frame["statistic"]) >= {
        "accuracy",
        "balanced_accuracy",
        "f1_micro",
        "f1_macro",
        "matthews_corrcoef",
        "roc_auc",
    }
    np.testing.assert_allclose(frame[["coverage", "below", "above", "invalid"]].sum(axis=1), 1)
    wilson = frame[(frame["statistic"] == "accuracy") & (frame["method"] == "wilson")]
    assert (wilson["coverage"] > 0.9).all()
    assert (out / "report.html").stat().st_size > 10_000
