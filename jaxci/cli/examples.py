"""Examples of the commands, which stand at the end of their help."""

from __future__ import annotations

EXAMPLES = {
    "evaluate": (
        "jaxci evaluate predictions.csv --target label --pred guess --score p --groups patient",
        "jaxci evaluate predictions.csv --target label --score p --threshold 0.3 --json out.json",
    ),
    "compare": (
        "jaxci compare predictions.csv --target label --metric accuracy --pred-a a --pred-b b",
        "jaxci compare predictions.csv --target label --metric roc_auc --score-a p1 --score-b p2",
    ),
    "leaderboard": ("jaxci leaderboard predictions.csv --target label --models a,b,c --metric accuracy,f1_macro",),
    "masks": ("jaxci masks predictions/ references/ --tolerance 2 --csv cases.csv",),
    "check": (
        "jaxci check predictions.csv --target label --pred guess --metric f1_macro --n 50",
        "jaxci check cases.csv --metric mean --pred dice --bounds 0,1",
    ),
    "plan": (
        "jaxci plan accuracy --expected 0.8 --width 0.1",
        "jaxci plan accuracy -a 0.85 -b 0.82 --discordant 0.09 --power 0.8",
    ),
    "quantile": ("jaxci quantile runs.jsonl --column accuracy --goal higher",),
    "generalization": (
        "jaxci generalization data.csv --target y --model ridge:alpha=0.1 --loss squared",
        "jaxci generalization data.csv --target y --model ridge:alpha=0.1 --versus tree --loss squared",
    ),
    "losses": ("jaxci losses folds.csv --loss loss --fold fold",),
    "methods": ("jaxci methods roc_auc --n 100", "jaxci methods wilson_cluster"),
    "new": (
        "jaxci study new mine.toml",
        "jaxci study new mine.toml --design segmentation --data cases.csv --value dice --by task,model",
    ),
    "run": ("jaxci study run mine.toml", "jaxci study run proportions --out results"),
    "estimate": ("jaxci study estimate mine.toml",),
    "status": ("jaxci study status mine.toml",),
    "report": ("jaxci study report mine.toml --csv all.csv",),
    "merge": ("jaxci study merge mine-results other-results --csv all.csv",),
}
"""Lines by the name of the command."""


def example(name: str) -> str | None:
    """Return the lines below the help of a command, a paragraph each, or None where it has no example."""
    lines = EXAMPLES.get(name)
    return None if lines is None else "\n\n".join(["Examples:" if len(lines) > 1 else "Example:", *lines])
