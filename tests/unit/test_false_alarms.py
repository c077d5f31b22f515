"""The suite's budget of false alarms: what draws may do to a correct program."""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
GOODNESS_OF_FIT = re.compile(r"pvalue > |kstest\(|ks_2samp\(|chisquare\(|binomtest\([^)]*\)\.pvalue >")


def test_all_chances_of_a_false_alarm_are_stated_and_small_together(stated_false_alarms):
    stated, most = stated_false_alarms
    assert all(0 < chance < 1e-2 for chance in stated.values()), stated
    largest = sorted(stated.items(), key=lambda pair: -pair[1])
    assert sum(stated.values()) <= most, "\n".join(f"{chance:.1e} {name}" for name, chance in largest)


def test_tests_of_fit_state_their_chance_of_a_false_alarm():
    silent, found = [], 0
    for path in sorted(TESTS.rglob("test_*.py")):
        if path == Path(__file__).resolve():
            continue
        text = path.read_text()
        lines = text.splitlines()
        for test in ast.walk(ast.parse(text)):
            if not (isinstance(test, ast.FunctionDef) and test.name.startswith("test_")):
                continue
            if GOODNESS_OF_FIT.search("\n".join(lines[test.lineno - 1 : test.end_lineno])):
                found += 1
                if not any("false_alarm" in ast.unparse(decorator) for decorator in test.decorator_list):
                    silent.append(f"{path.name}::{test.name}")
    assert found > 20
    assert not silent
