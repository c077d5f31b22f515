"""A base install as a stranger has it: intervals come out, and what needs an extra names it."""

import contextlib
import io
import sys
from pathlib import Path

import jaxci
from jaxci import cli

assert Path(jaxci.__file__).is_relative_to(sys.prefix), jaxci.__file__

truth = [0, 1] * 20
guess = [0, 1, 1, 1] * 10
table = jaxci.evaluate(truth, guess)
accuracy = table["accuracy"]
assert accuracy.estimate == 0.75, accuracy
assert accuracy.confidence_interval.low < 0.75 < accuracy.confidence_interval.high, accuracy
print(table)

NEEDED = {
    "data": lambda: table.to_frame(),
    "plot": lambda: jaxci.coverage.card("accuracy").plot(),
    "sklearn": lambda: jaxci.generalization_interval("sklearn.linear_model:Ridge", [[0.0]] * 40, list(range(40))),
}
for extra, call in NEEDED.items():
    told = ""
    try:
        call()
    except ImportError as error:
        told = str(error)
    assert f"jaxci[{extra}]" in told, (extra, told)

for arguments, code, told in ((["--version"], 0, jaxci.__version__), (["demo"], 2, "install jaxci[cli]")):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        assert cli.main(arguments) == code, arguments
    assert told in said.getvalue(), said.getvalue()
print("the built files work, and what needs an extra says so")
