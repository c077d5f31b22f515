"""What the library says of its arguments, in the words of the command line: its options."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

ALIASES = {
    "confidence_level": "level",
    "n_resamples": "resamples",
    "n_replications": "replications",
    "n_groups": "groups",
    "n_folds": "cv",
    "sample_sizes": "sizes",
    "sample_weight": "weights",
    "y_true": "target",
    "y_pred": "pred",
    "y_score": "score",
    "prediction_a": "pred_a",
    "prediction_b": "pred_b",
    "rng": "seed",
}
"""Arguments of the library that options of other names give; they stand for nothing else, wherever they stand."""
FIRST = {"predictions": "models", "x": "column", "y": "target", "method": "methods", "test": "fold"}
"""Such arguments where a sentence begins with them."""
ONE = {"metrics": "metric"}
"""Arguments that may hold several, where the option of the command holds one."""
OF_SCORES = "belong in y_score and in metrics that read it"
"""Where scores belong; commands without an option of scores tell them by the metric alone."""
NO_OPTION = ("labels",)
"""Words at the beginning of a sentence that mean what they say."""


def called(parameter: Any) -> str:
    """Return an option as it is typed, or the word that stands for an argument in help."""
    if parameter.param_type_name == "option":
        return max(parameter.opts, key=len)
    return (parameter.metavar or parameter.name.upper()).rstrip(".")


class Flags:
    """Options of the command that runs, by the names of its parameters."""

    known: dict[str, str]
    named: dict[str, str]

    def __init__(self) -> None:
        self.known, self.named = {}, {}

    def of(self, command: Any, arguments: Sequence[str]) -> None:
        """Take the options of the command that ``arguments`` name, of a group its member, and what gives each value."""
        self.known, self.named = {}, {}
        switches: set[str] = set()
        for word in arguments:
            command = getattr(command, "commands", {}).get(word, command)
        positional = ""
        for parameter in command.params:
            if parameter.param_type_name == "option":
                self.known[parameter.name] = called(parameter)
                switches |= {*parameter.opts, *parameter.secondary_opts} if parameter.is_flag else set()
            else:
                positional = positional or called(parameter)
        for before, word in zip(("", *arguments), arguments, strict=False):
            option, given, value = word.partition("=")
            if word.startswith("--") and given:
                self.named[value] = option
            elif not word.startswith("-"):
                gives = before.startswith("--") and "=" not in before and before not in switches
                self.named.setdefault(word, before if gives else positional)

    def find(self, name: str) -> str | None:
        """Return the option that gives an argument of the library; None where the command has none."""
        return self.known.get(ALIASES.get(name, name))


FLAGS = Flags()


def of_no_file(error: OSError, flags: Flags = FLAGS) -> str:
    """Say which argument names a file that cannot be opened, and why, if its name is one."""
    name = str(error.filename)
    given = flags.named.get(name, "")
    if isinstance(error, FileNotFoundError):
        return f"{given} must be a file that exists; got {name!r}" if given else f"there is no file {name!r}"
    return f"{given} must be a file; got the folder {name!r}" if given else f"{name!r} is a folder, no file"


def in_flags(message: str, flags: Flags = FLAGS) -> str:
    """Return a message of the library in which options stand for arguments."""
    if not flags.known:
        return message

    def flag(match: re.Match[str]) -> str:
        return flags.find(match[1]) or match[1]

    def first(match: re.Match[str]) -> str:
        name = match[1]
        found = None if name in NO_OPTION else flags.find(name) or flags.known.get(FIRST.get(name, ""))
        return found or name

    def given(match: re.Match[str]) -> str:
        other = flags.known.get(ONE.get(match[1], ""))
        option = "--method" if match[1] == "method" else flags.find(match[1]) or other
        if option is None:
            return match[0]
        value = re.sub(r"[\[\]' ]", "", match[2])
        return option if value == "True" else f"{option} {value}"

    def member(match: re.Match[str]) -> str:
        option = flags.known.get(FIRST.get(match[1], match[1]))
        return match[0] if option is None else f"{match[2]} of {option}"

    def needed(match: re.Match[str]) -> str:
        asked, *told = (flags.find(name) or name for name in (match[1], *match[3].split(", ")))
        return f"{asked} is needed{match[2]}; got {', '.join(told)}"

    def not_read(match: re.Match[str]) -> str:
        *read, given = (flags.find(name) or name for name in re.findall(r"'(\w+)'", match[0]))
        return f"{given} must be left out: what is read is {', '.join(read)}"

    scores = flags.find("y_score")
    text = message.replace(OF_SCORES, f"belong in {f'{scores} and in ' if scores else ''}metrics that read them")
    text = text.replace("recompute=True, --recompute", "--recompute")
    text = re.sub(r"\bexpected\['(\w+)'\]", lambda m: flags.find(m[1]) or m[0], text)
    text = re.sub(r"^expected must hold no key but .*; got '\w+'$", not_read, text)
    text = re.sub(r"^expected needs '(\w+)'([^;]*); got ([\w, ]+)$", needed, text)
    text = re.sub(r"\b(\w+)\[('[^']*')\](?= must| has )", member, text)
    text = re.sub(r"^(\w+), which is (\w+): \2", r"\1", text)
    text = re.sub(r"(?<![\w'-])(\w+)=(\[[^\]]*\]|'[^']*'|[\w.]+)", given, text)
    text = re.sub(r"^(\w+)(?= must| goes with| makes labels of|, | and \w+ must)", first, text)
    text = re.sub(r"(?<=^--)([\w-]+) and (\w+)(?= must)", lambda m: f"{m[1]} and {flags.find(m[2]) or m[2]}", text)
    text = re.sub(r"(?<=pass )(\w+)\b|(?<= with )(\w+)(?=[:;,] )", lambda m: flags.find(m[0]) or m[0], text)
    text = re.sub(r"(?<=option )'(\w+)'", lambda m: flags.find(m[1]) or m[0], text)
    text = re.sub(rf"(?<![\w'./-])({'|'.join(ALIASES)})(?![\w'./-])", flag, text)
    return text.replace("must be an array; got None", "must be given")
