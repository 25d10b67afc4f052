"""The verdict: what the results say, in one paragraph, and what they do not.

Invariant: the headline never says that all is well when a gate failed, a claim is refused or the
engines differ. Pinned by `tests/test_report.py`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fourcorner import names
from fourcorner.auditing import Audit
from fourcorner.checks.rows import PRIOR_DRIVEN
from fourcorner.report import criteria, stability, words
from fourcorner.report.families import alone, families
from fourcorner.report.findings import DIFFER, Finding, asks_reversal, findings, kind, reverses
from fourcorner.report.lines import Line, intervals, is_comparison, is_simultaneous
from fourcorner.report.panels import depends_on_pooling, rests_on_prior
from fourcorner.results import target
from fourcorner.spec.weights import mix_of

WEIGHED = (
    "The posterior is a Bayesian bootstrap: it weighs the units of the design estimate and has no "
    "model that a gate could test, so that both agree shows nothing more than either."
)


@dataclass(frozen=True)
class Verdict:
    """The verdict of an audit.

    Attributes
    ----------
    tone : {"good", "mixed", "bad"}
    headline : str
    sentences : tuple of str
        One paragraph.
    findings : tuple of Finding
        One for each comparison of gains, of means or of signs.
    limits : tuple of str
        What the report does not claim.
    """

    tone: str
    headline: str
    sentences: tuple[str, ...]
    findings: tuple[Finding, ...]
    limits: tuple[str, ...]


def verdict(audit: Audit, lines: Sequence[Line]) -> Verdict:
    """Put an audit into words."""
    single = alone(lines)
    comparisons = [line for line in single if is_comparison(line.estimand.contrast)]
    means = [line for line in comparisons if line.estimand.statistic == names.MEAN]
    differ = sum(kind(line) == DIFFER for line in means)
    driven = _driven(audit, lines)
    tone, headline = _headline(audit, differ, driven)
    sentences = [_gates(audit), *_engines(audit), *_refused(audit, lines), *_overview(means)]
    sentences += [
        *_reversals(means),
        *criteria.sentences(audit),
        *_depends(audit, differ),
        *_pooled(audit),
        *_prior(audit, driven),
    ]
    return Verdict(
        tone,
        headline,
        tuple(sentences),
        (
            *findings(audit, comparisons, single),
            *stability.findings(families(audit, lines), short=True),
        ),
        tuple(_limits(audit, lines)),
    )


def _headline(audit: Audit, differ: int, driven: Sequence[str]) -> tuple[str, str]:
    failed = sum(row.gated and row.verdict == "fail" for row in audit.check_rows)
    if failed:
        return "bad", f"{words.count(failed, 'gate')} failed"
    if audit.posterior_method is None:
        return "mixed", "Design estimates only: no second engine to check them"
    trouble = []
    if audit.refused:
        trouble.append("some claims are not supported")
    if differ:
        trouble.append(f"the engines differ on {words.count(differ, 'comparison')}")
    if depend := len(_pooling(audit)):
        trouble.append(f"{words.count(depend, 'conclusion')} {_verb(depend)} on pooling")
    if driven:
        verb = "comes from its prior" if len(driven) == 1 else "come from their priors"
        trouble.append(f"{words.count(len(driven), 'answer')} {verb}")
    ran = any(row.gated and row.verdict == names.PASS for row in audit.check_rows)
    gates = "All gates passed" if ran else "No gate was run"
    tone = "mixed" if trouble or not ran else "good"
    return tone, "; ".join([gates, *trouble])


def _pooling(audit: Audit) -> list[str]:
    """Estimates whose conclusion depends on pooling."""
    return [row.target for row in audit.check_rows if depends_on_pooling(row)]


def _verb(count: int) -> str:
    return "depends" if count == 1 else "depend"


def _gates(audit: Audit) -> str:
    gated = [row for row in audit.check_rows if row.gated]
    count = Counter(row.verdict for row in gated)
    ran = count["pass"] + count["fail"]
    if not ran:
        return "No gate was run, so no result here has been checked."
    left = f"; {count['not_run']:,} did not apply" if count["not_run"] else ""
    if not count["fail"]:
        return f"All {words.count(ran, 'gate')} that ran passed{left}."
    failed = [f"{row.name}: {row.target}" for row in gated if row.verdict == "fail"]
    return (
        f"{count['fail']:,} of {words.count(ran, 'gate')} that ran failed "
        f"({words.few(failed)}){left}. Rest no decision on the posterior until this is mended."
    )


def _engines(audit: Audit) -> list[str]:
    if audit.posterior_method is None:
        return [_unavailable(reason) for reason in audit.not_available]
    if audit.posterior_method == names.BAYESIAN_BOOTSTRAP:
        return [WEIGHED]
    if not any(row.method == names.DESIGN for row in audit.rows):
        return ["The design engine was not run."]
    return []


def _unavailable(reason: str) -> str:
    """A reason as a sentence: what is not available, and why."""
    what, _, why = reason.rstrip(".").partition(": ")
    return f"No {what}: {why}." if why else f"Not available: {what}."


def _refused(audit: Audit, lines: Sequence[Line]) -> list[str]:
    refused = {(row.name, row.weights) for row in audit.refused}
    if not refused:
        return []
    return [
        f"{len(refused):,} of the {words.count(len(lines), 'estimate')} asked for cannot be given, "
        f"or not by both engines and for every cohort; the reasons are below."
    ]


def _overview(means: Sequence[Line]) -> list[str]:
    """How many comparisons of mean gains lie where, by mixture."""
    if not means:
        return ["The spec asks for no comparison of mean gains between channels."]
    parts = []
    for weights in dict.fromkeys(line.weights for line in means):
        kinds = Counter(kind(line) for line in means if line.weights == weights)
        many = "all " if len(kinds) == 1 and kinds.total() > 1 else ""
        said = words.listed([f"{many}{count:,} {where}" for where, count in kinds.items()])
        parts.append(f"under {weights} weights {said}")
    number = len({line.estimand.name for line in means})
    noun = words.count(number, "comparison")
    return [f"Of {noun} of mean gains between channels: {'; '.join(parts)}."]


def _reversals(means: Sequence[Line]) -> list[str]:
    asked = [line for line in means if asks_reversal(line)]
    if not asked:
        return []
    sure = [target(line.estimand.name, line.weights) for line in asked if reverses(line)]
    if not sure:
        return ["In none of them does the posterior show that the mean gain reverses sign."]
    return [f"By the posterior the mean gain reverses sign between channels in {words.few(sure)}."]


def _depends(audit: Audit, differ: int) -> list[str]:
    if not differ:
        return []
    why = ""
    if audit.posterior_method == names.BAYESIAN_BOOTSTRAP:
        return [
            "Where the engines differ the conclusion depends on how the interval is made, which "
            "few units leave open. Rest no decision on one engine alone there."
        ]
    if audit.spec.data.stratum is not None:
        why = ", which lets small strata borrow from the others; the design estimate does not"
    return [
        f"Where the engines differ the conclusion depends on the model{why}. Rest no decision on "
        f"one engine alone there."
    ]


def _pooled(audit: Audit) -> list[str]:
    found = _pooling(audit)
    if not found:
        return []
    return [f"Whether strata share information decides the conclusion on {words.few(found)}."]


def _driven(audit: Audit, lines: Sequence[Line]) -> list[str]:
    """Estimates that come from their priors; parameters of the model are no answers."""
    asked = {target(line.estimand.name, line.weights) for line in lines}
    found = (row.target for row in audit.check_rows if rests_on_prior(row))
    return list(dict.fromkeys(name for name in found if name in asked))


def _prior(audit: Audit, driven: Sequence[str]) -> Iterator[str]:
    open_rows = {row.target for row in audit.check_rows if row.name == PRIOR_DRIVEN}
    if unseen := [name for name in driven if name in open_rows]:
        yield f"The data do not determine {words.few(unseen)}: the posterior there is its prior."
    if strong := [name for name in driven if name not in open_rows]:
        yield f"The priors say more than the data of {words.few(strong)}."


def _limits(audit: Audit, lines: Sequence[Line]) -> list[str]:
    funnel = audit.funnel
    return [
        *_intervals(audit, lines),
        "An interval that includes zero leaves the sign open; it does not show that there is no "
        "difference.",
        "That gains differ between channels does not say which channel is right.",
        f"The numbers are about {_cohort(audit, funnel)}, and units like them, mixed as the "
        f"weights say ({'; '.join(_mixtures(audit))}). Other tasks, channels or mixtures may "
        f"differ.",
    ]


def _intervals(audit: Audit, lines: Sequence[Line]) -> Iterator[str]:
    """Which intervals hold together, and which hold singly."""
    every = intervals(lines)
    together = [row for row in every if is_simultaneous(row)]
    for cohort, count in Counter(row.cohort for row in together).items():
        mine = {row.level for row in together if row.cohort == cohort}
        yield (
            f"Simultaneous: {words.count(count, 'design interval')} of the {cohort} cohort, "
            f"{_levels(mine)} for all of them at once, and not together with any other interval."
        )
    parts = [row for row in audit.breakdown_rows if row.interval is not None]
    single = [row.level for row in every if not is_simultaneous(row)]
    single += [row.interval_level for row in parts]
    if single:
        yield (
            f"Pointwise: {words.count(len(single), 'interval')}, {_levels(single)} each; nothing "
            f"is adjusted for their number, and some can be expected to miss."
        )


def _levels(levels: Iterable[float]) -> str:
    return words.listed([f"{100 * level:g} %" for level in sorted(set(levels))])


def _cohort(audit: Audit, funnel: Mapping[str, Any]) -> str:
    """Whom the numbers are about: units, and transitions where they are others."""
    total, steps = (words.count(funnel[f"{noun}s"], noun) for noun in ("unit", "transition"))
    several = funnel["transitions"] != funnel["units"]
    if audit.tree is None:
        whole = f"{steps} of {total}" if several else total
        return (
            f"the {'transitions' if several else 'units'} that are complete for each contrast, "
            f"out of {whole}"
        )
    if str(audit.tree.attrs["cohort"]) == names.COHORT_OBSERVED:
        more = f" ({steps})" if several else ""
        return f"all {total}{more} with a measured cell, gaps taken as missing at random"
    more = f" ({funnel['transitions_in_cohort']:,} of {steps})" if several else ""
    return f"the {funnel['units_in_cohort']:,} of {total}{more} that are complete in every cell"


def _mixtures(audit: Audit) -> list[str]:
    said = []
    for name, declared in audit.spec.weights.items():
        if declared == names.EMPIRICAL:
            what = "strata as the cohort happens to mix them"
        elif declared == names.EQUAL:
            what = "every stratum counts the same"
        else:
            assert not isinstance(declared, str), declared
            parts = mix_of(declared)
            shares = declared if parts is None else parts
            what = ", ".join(f"{part} {share:.3g}" for part, share in shares.items())
            what = what if parts is None else f"a mix of {what}"
        said.append(f"{name}: {what}")
    return said
