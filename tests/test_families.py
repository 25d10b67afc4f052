"""Families of rows on the page, on the terminal and in figures: signs first of all."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fourcorner import measures, names
from fourcorner.auditing import design_audit
from fourcorner.estimands import as_estimands
from fourcorner.estimands.declared import CONTRASTS, ROWS
from fourcorner.report import families, html, lines, partplot, plots, svg, terminal, verdict, words
from fourcorner.report.claims import claims
from fourcorner.report.findings import findings
from fourcorner.report.meaning import SAID, meaning
from fourcorner.report.panels import parts
from fourcorner.results import Breakdown
from fourcorner.scores import read_scores
from fourcorner.spec import parse_spec
from fourcorner.spec.kinds import KINDS, OWN_KEYS
from test_panels import part
from test_report import PROVENANCE, Page, check, estimate, fitted
from test_report import SPEC as FACE

SPEC = """
kind = "scores"
title = "Signs"
[data]
score = "margin"
unit = "task"
transition = "step"
change = { column = "state", before = "before", after = "after" }
channel = { view = ["direct", "generated"] }
replicate = { layout = ["L0", "L1"], wave = ["1", "2"] }
stratum = "target"
attributes = ["step_type"]
[estimands]
omega = { omega = { view = ["direct", "generated"] } }
stable = { signs = { view = ["direct", "generated"] }, dead_zones = [0.25] }
ranks = { auc = { view = ["direct", "generated"] }, outcome = { step_type = "plan" } }
[weights]
empirical = "empirical"
equal_target = "equal"
[design]
draws = 100
"""


def table(units=10, seed=0):
    generator = np.random.default_rng(seed)
    rows = [
        (f"u{unit}", step, state, view, layout, wave, ("no", "yes")[unit % 2], step)
        for unit, step, state, view, layout, wave in itertools.product(
            range(units), ("plan", "draft"), ("before", "after"), ("direct", "generated"),
            ("L0", "L1"), "12",
        )
    ]  # fmt: skip
    columns = ["task", "step", "state", "view", "layout", "wave", "target", "step_type"]
    return pd.DataFrame(rows, columns=columns).assign(
        margin=generator.normal(0, 0.5, len(rows)).round(2)
    )


def audited(text=SPEC, frame=None):
    spec = parse_spec(text)
    found = design_audit(read_scores(spec, table() if frame is None else frame), spec)
    return replace(found, not_available=("posterior of stable: it has no signs",))


@pytest.fixture(scope="module")
def audit():
    return audited()


@pytest.fixture(scope="module")
def collected(audit):
    return lines.collect(audit)


@pytest.fixture(scope="module")
def page(audit):
    return Page(html.render(audit, PROVENANCE))


@pytest.fixture(scope="module")
def stable(audit, collected):
    return next(x for x in families.families(audit, collected) if x.name == "stable")


def test_every_line_stands_alone_or_is_in_one_family(audit, collected):
    found = families.families(audit, collected)
    inside = [line for family in found for of in family.rows.values() for line in of]
    both = [*families.alone(collected), *inside]
    key = lambda line: (line.estimand.name, line.weights)  # noqa: E731
    assert sorted(map(key, both)) == sorted(map(key, collected))
    assert [line.estimand.name for line in families.alone(collected)] == ["omega", "omega"]
    assert [(family.name, family.kind) for family in found] == [
        ("stable", "signs"),
        ("ranks", "auc"),
    ]
    assert [f"stable.{row}" for row in found[0].rows] == [
        name for name in as_estimands(audit.spec) if name.startswith("stable.")
    ]


def test_a_family_is_in_its_own_table_and_in_no_other(audit, page):
    shown = [[row[0].split()[0] for row in found[1:]] for found in page.tables if
             found[0][0] == "Row"]  # fmt: skip
    assert shown == [
        [
            x.removeprefix(f"{family}.")
            for x in as_estimands(audit.spec)
            if x.startswith(f"{family}.")
        ]
        for family in ("stable", "ranks")
    ]
    assert page.text.count("Do signs agree?") == 1
    estimates = next(
        found for found in page.tables if found[0][:2] == ["Estimand, weights", "Design"]
    )
    assert not any("cross_channel" in cell for row in estimates for cell in row)


def test_rates_are_in_per_cent_with_their_intervals(audit, page):
    row = next(
        row for row in audit.rows if (row.name, row.weights) == ("stable.excess", "empirical")
    )
    table_of = next(found for found in page.tables if found[0][0] == "Row")
    (shown,) = [found for found in table_of if found[0].startswith("excess")]
    said = re.match(r"(−?[\d.]+) % \[(−?[\d.]+), (−?[\d.]+)\]", shown[1])
    numbers = [float(text.replace("−", "-")) for text in said.groups()]
    assert numbers == pytest.approx([100 * x for x in (row.value, *row.interval)], abs=0.05)


def test_families_are_not_in_the_forest_the_findings_or_the_parts(audit, collected):
    drawn = svg.to_svg(plots.forest(audit), "f", "words")
    assert "omega" in drawn
    assert "cross_channel" not in drawn
    found = verdict.verdict(audit, collected)
    assert [finding.name for finding in found.findings] == ["omega", "stable"]
    assert "Of 1 comparison of mean gains" in " ".join(found.sentences)
    assert [of.name for of in parts(audit)] == ["omega"]


def test_a_page_without_signs_has_no_section_of_them():
    text = SPEC.replace(
        'stable = { signs = { view = ["direct", "generated"] }, dead_zones = [0.25] }\n', ""
    )
    shown = Page(html.render(audited(text), PROVENANCE))
    assert "Do signs agree?" not in shown.text
    assert not any(attrs.get("href") == "#signs" for _, attrs in shown.tags)


def test_a_page_of_signs_alone_has_no_empty_figure_or_table():
    lines_of = [x for x in SPEC.splitlines() if not x.startswith(("omega", "ranks"))]
    shown = Page(html.render(audited("\n".join(lines_of)), PROVENANCE))
    assert "no estimate to draw" not in shown.text
    assert "Estimand, weights" not in shown.text
    assert "asks for no comparison of mean gains" in shown.text


@pytest.fixture(scope="module")
def beside_a_fit():
    """A fit that has no signs; a row of a family that differs between its cohort and its own."""
    text = FACE.replace(
        "[weights]", 'st = { signs = { view = ["direct", "generated"] } }\n[weights]'
    )
    rate = {"name": "st.cross_channel", "statistic": "rate"}
    rows = [
        estimate(**rate, value=0.5, interval=(0.25, 0.75)),
        estimate(
            **rate, value=0.375, interval=(0.125, 0.5), cohort="contrast", units=9, transitions=11
        ),
        estimate(name="st.omega", value=-1.0, interval=(-1.5, -0.5)),
        estimate(),
    ]
    parts = [part("stratum", "no", 0.75, name="st.cross_channel", statistic="rate", units=5)]
    return replace(fitted(rows, text=text), breakdown_rows=parts)


def test_a_row_of_its_own_cases_stands_beside_that_of_the_fits_cohort(beside_a_fit):
    shown = Page(html.render(beside_a_fit, PROVENANCE))
    (table_of,) = [found for found in shown.tables if found[0][0] == "Row"]
    assert table_of[0] == [
        "Row",
        *("empirical", "empirical, own cases", "equal_target", "equal_target, own cases"),
        *("Units", "Units, own cases"),
    ]
    (row,) = [found for found in table_of if found[0].startswith("cross_channel\n")]
    assert row[1:3] == ["50.0 % [25.0, 75.0]", "37.5 % [12.5, 50.0]"]
    assert row[-2:] == ["4", "9 (11 tr.)"]


def test_rows_and_their_parts_say_which_cases_they_are_of(beside_a_fit, page):
    shown = Page(html.render(beside_a_fit, PROVENANCE)).text
    assert "Rows are of the joint cohort, the units complete in every cell." in shown
    assert "st by part of the cohort, empirical weights, own cases Parts are of every" in shown
    assert "(own cases), not of the joint cohort alone" in shown
    assert "Cross-channel disagreement by part of the cohort, own cases, drawn" in shown
    same = replace(
        beside_a_fit, rows=[row for row in beside_a_fit.rows if row.cohort != "contrast"]
    )
    shown = Page(html.render(same, PROVENANCE)).text
    assert "own cases" not in shown
    assert "st by part of the cohort, empirical weights Parts are of every" in shown
    assert "Rows are of every transition complete for the family, its own cases." in page.text
    assert "weights, own cases" not in page.text


def test_the_terminal_has_own_cases_below_the_row_of_the_fits_cohort(beside_a_fit, capsys):
    terminal.audit(beside_a_fit)
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    place = next(i for i, found in enumerate(printed) if found[:1] == ["cross_channel"])
    assert printed[place] == ["cross_channel", "50.0", "%", "[25.0,", "75.0]", "4"]
    assert printed[place + 1] == ["own", "cases", "37.5", "%", "[12.5,", "50.0]", "11"]
    assert sum(found[:2] == ["own", "cases"] for found in printed) == 1


def test_without_design_rows_the_terminal_has_no_table_of_a_family(beside_a_fit, capsys):
    terminal.audit(replace(beside_a_fit, rows=[estimate(method="posterior")]))
    printed = capsys.readouterr().out
    assert "cross_channel" not in printed
    assert "Not estimated" not in printed


def test_notes_of_family_rows_lead_to_the_list(audit, page):
    ids = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
    marks = {attrs["href"][1:] for tag, attrs in page.tags if tag == "a"}
    assert marks <= ids
    notes = {note for row in audit.rows for note in row.notes if row.name == "stable.zero"}
    assert notes
    assert all(f"design: {note}" in page.text for note in notes)


def test_what_rescaling_does_is_said_once_for_each_mixture_and_in_no_note(audit, page):
    rows = [row for row in audit.rows if row.name == "stable.omega"]
    said = [note for row in rows for note in row.notes if note.startswith("calibration: ")]
    assert len(said) == 2
    assert page.text.count("Calibration: ") == 2
    assert "calibration: " not in page.text


def test_the_mean_interaction_has_the_flips_of_the_mean_gains_as_numbers(audit):
    """Gains of one sign turn at their ratio, gains of opposite signs at a share of the second."""
    by = {(row.name, row.weights): row for row in audit.rows}
    for weights in ("empirical", "equal_target"):
        first, second = (by[f"stable.gain.{of}", weights].value for of in ("first", "second"))
        row = by["stable.omega", weights]
        one_sign = first * second > 0
        assert row.flip_ratio == (pytest.approx(first / second) if one_sign else None)
        share = None if one_sign else pytest.approx(first / (first - second))
        assert row.flip_share == share
    turned = table().assign(margin=lambda x: x["margin"] * np.where(x["view"] == "direct", 1, -1))
    other = {(row.name, row.weights): row for row in audited(frame=turned).rows}
    for weights in ("empirical", "equal_target"):
        was, now = by["stable.omega", weights], other["stable.omega", weights]
        assert (was.flip_ratio is None) == (now.flip_share is None)
        assert (was.flip_share is None) == (now.flip_ratio is None)
    estimands = as_estimands(audit.spec)
    kinds = {name: [part.kind for part in of.contrast.parts] for name, of in estimands.items()}
    plain = {
        name for name, of in estimands.items() if of.measure is None and of.statistic == "mean"
    }
    may = {"stable.omega", *(name for name in plain if kinds[name] == ["gain", "gain"])}
    rest = [row for row in audit.rows if row.name not in may or row.method != "design"]
    assert rest
    assert all(row.flip_ratio is None and row.flip_share is None for row in rest)
    whose = {name: estimand.family for name, estimand in as_estimands(audit.spec).items()}
    assert {row.name: row.family for row in audit.rows} == whose


def test_a_mark_stands_at_the_value_and_not_at_the_count(audit, page):
    (row,) = [row for row in audit.rows
              if (row.name, row.weights) == ("stable.zero", "empirical")]  # fmt: skip
    assert row.count is not None
    assert row.notes
    shown = html.render(audit, PROVENANCE)
    cell = shown[shown.index('<span class="name">zero</span>') :].split("</td>")[0]
    assert re.search(r"</sup><br><span[^>]*>[\d,]+ of 20</span>$", cell)
    assert not re.search(r"</span>\s*<sup>", shown)


def test_refusals_of_a_family_for_one_reason_are_one_claim():
    text = SPEC.replace('replicate = { layout = ["L0", "L1"], wave', 'session = "of"\nreplicate = '
                        '{ layout = ["L0", "L1"], wave')  # fmt: skip
    found = audited(text, table().assign(of=lambda x: x["wave"].map({"1": "a", "2": "b"})))
    refused = claims(found).refusals
    (mine,) = [claim for claim in refused if claim.name == "stable"]
    assert "several sessions" in mine.why
    assert "cross_channel" in mine.why
    assert "ranks" not in mine.why
    assert len(mine.where) == 2  # two mixtures of one engine
    assert len([row for row in found.rows if row.refused and "stable" in row.name]) == 26
    shown = Page(html.render(found, PROVENANCE)).text
    assert shown.count("which are no retries of one another") == 1 + 4  # findings, section


def test_a_refusal_of_one_row_names_the_row():
    text = SPEC.replace('stratum = "target"', 'scale = ["view"]\nstratum = "target"')
    named = {claim.name for claim in claims(audited(text)).refusals}
    assert named == {"omega", "stable.omega", "stable.beyond_0.25"}


def test_checks_that_were_not_run_are_said_once_for_a_family(audit, collected):
    rows = [
        check("agreement", f"{name} ({weights})", "not_run", None, None, "it has no signs")
        for name in as_estimands(audit.spec)
        for weights in audit.spec.weights
    ]
    assert families.not_run(rows, collected) == [
        "agreement, omega (empirical), omega (equal_target), stable and ranks: it has no signs",
    ]
    rows[0] = replace(rows[0], message="too few draws")
    assert families.not_run(rows, collected) == [
        "agreement, omega (empirical): too few draws",
        "agreement, omega (equal_target), stable and ranks: it has no signs",
    ]


def test_levels_stand_side_by_side_and_contributions_sum_to_the_mean(audit, stable):
    for found in families.levels(audit, stable):
        assert found.columns == ("cross_channel", "same_channel", "gain.first", "gain.second")
        assert {(by, level) for by, level, *_ in found.rows} == {
            *(("layout", level) for level in ("L0", "L1")),
            *(("wave", level) for level in "12"),
            *(("stratum", level) for level in ("no", "yes")),
            *(("step_type", level) for level in ("plan", "draft")),
        }
        for column, of in ((2, "stable.gain.first"), (3, "stable.gain.second")):
            whole = next(
                row for row in audit.rows if (row.name, row.weights) == (of, found.weights)
            )
            for kind in ("stratum", "step_type"):
                adds = [cells[column][1] for by, _, _, _, cells in found.rows if by == kind]
                total = sum(float(text.replace("−", "-")) for text in adds)
                assert total == pytest.approx(whole.value, abs=0.002)
        for by, _, units, _, cells in found.rows:
            assert cells[0][0].endswith(" %")
            assert (cells[1][0] == "—") == (by == "wave")
            assert (cells[2][1] == "") == (by in {"layout", "wave"})
            assert units == (5 if by == "stratum" else 10)


def test_a_level_without_a_text_is_called_none(audit, stable):
    row = part("step_type", "", 0.5, name="stable.cross_channel", statistic="rate")
    (found,) = families.levels(replace(audit, breakdown_rows=[row]), stable)
    assert found.rows == (("step_type", "none", 4, 4, (("50.0 %", ""), *[("—", "")] * 3)),)


# Figures


def points(figure):
    """(marker, x, rounded y) of every value that is drawn."""
    return {
        (line.get_marker(), round(float(line.get_xdata()[0]), 9))
        for line in figure.axes[0].lines
        if len(line.get_xdata()) == 1
    }


DRAWN = ["cross_channel", "same_channel", "excess", "cross_channel+-", "cross_channel-+",
         "persistent", "beyond_0.25"]  # fmt: skip


def test_rates_of_signs_are_drawn_in_per_cent_with_a_marker_for_each_mixture(audit, stable):
    figure = partplot.sign_rates(stable)
    expected = {
        ({"empirical": "o", "equal_target": "D"}[row.weights], round(100 * row.value, 9))
        for row in audit.rows
        if row.name.removeprefix("stable.") in DRAWN
    }
    assert points(figure) == expected
    assert "both beyond 0.25" in {text.get_text() for text in figure.axes[0].texts}
    assert figure.axes[0].get_xlabel() == "share, per cent"


def test_more_mixtures_than_can_be_told_apart_are_not_drawn(stable):
    many = replace(stable, weights=tuple("abcdefg"))
    assert partplot.sign_rates(many) is None


PARTS = [
    part("layout", "L0", -1.4, (-2.0, -0.8)),
    part("layout", "L0", 0.3, weights="equal"),
    part("stratum", "no", -2.0),
    part("stratum", "no", -2.0, weights="equal"),
    part("success", "", None, notes=("no complete transition",)),
]


def test_parts_are_drawn_at_their_values_and_what_is_the_same_once():
    figure = partplot.part_forest(PARTS, "margin")
    assert points(figure) == {("o", -1.4), ("D", 0.3), ("o", -2.0)}
    ends = {tuple(line.get_xdata()) for line in figure.axes[0].lines if line.get_linewidth() == 2}
    assert ends == {(-2.0, -0.8)}
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert {"layout", "stratum", "success", "L0", "no", "none", "no value"} <= set(texts)
    assert figure.axes[0].get_xlabel() == "margin, native units"


def test_shares_are_drawn_in_per_cent():
    rows = [replace(row, statistic="negative_share", value=0.25, interval=(0.125, 0.5))
            for row in PARTS[:1]]  # fmt: skip
    figure = partplot.part_forest(rows, "margin")
    assert points(figure) == {("o", 25.0)}
    assert figure.axes[0].get_xlim()[0] <= 0
    assert figure.axes[0].get_xlabel() == "share, per cent"


@pytest.mark.parametrize(
    "rows",
    [[], PARTS[4:], [part("layout", str(i), float(i)) for i in range(partplot.MOST + 1)]],
)
def test_nothing_is_drawn_where_there_is_nothing_or_too_much(rows):
    assert partplot.part_forest(rows, "margin") is None


def test_figures_of_parts_are_collapsed_and_on_the_page(audit, page):
    figures = [attrs["aria-label"] for tag, attrs in page.tags if tag == "svg"]
    assert "Parts of omega with their intervals; the numbers are in the table." in figures
    assert "Cross-channel disagreement of stable by part of the cohort." in figures
    text = html.render(audit, PROVENANCE)
    for label in ("Parts of omega, drawn", "Cross-channel disagreement by part"):
        before = text[: text.index(f'aria-label="{label}"')]
        assert before.count("<details") > before.count("</details")


def test_parts_say_what_they_add(page):
    rows = {row[0]: row[1:] for row in page.rows("Part")}
    adds = [
        float(row[1].split("adds ")[1].replace("−", "-"))
        for name, row in rows.items()
        if name.startswith("step_type")
    ]
    whole = page.rows("Design")
    value = next(row for row in whole if row[0].startswith("empirical"))[1]
    assert sum(adds) == pytest.approx(float(value.split()[0].replace("−", "-")), abs=0.002)
    assert "adds" not in rows["layout = L0"][1]


# The kinds of families and estimands, each with its entry in every table


def test_every_kind_is_built_by_one_rule_and_has_its_words():
    alone = {name for name, kind in KINDS.items() if not (kind.measured or kind.of_others)}
    measured = {name for name, kind in KINDS.items() if kind.measured}
    assert set(CONTRASTS) == alone
    assert set(ROWS) == measured == set(measures.FAMILIES)
    assert set(SAID) == set(KINDS)
    assert {name for name, kind in KINDS.items() if kind.family} == measured - {"agreement"}
    assert all(set(kind.needs) <= set(kind.takes) <= set(OWN_KEYS) for kind in KINDS.values())


def test_a_row_of_a_family_is_of_the_kind_of_its_entry(audit):
    for estimand in as_estimands(audit.spec).values():
        if estimand.family is not None:
            assert estimand.measure.family == audit.spec.estimands[estimand.family].kind


# The terminal, and text that users wrote


MIXED = "a_third_mixture = { mix = { empirical = 0.5, equal_target = 0.5 } }"
LONG = "an_estimand_whose_name_is_longer_than_any_column_has_room_for_it"


def printed_by(found, capsys):
    terminal.audit(found)
    return capsys.readouterr().out.splitlines()


def test_names_and_values_are_whole_whatever_the_number_of_mixtures(capsys):
    """Where three mixtures do not fit side by side each row has a line for each of them."""
    text = SPEC.replace("[design]", f"{MIXED}\n[design]").replace("stable =", f"{LONG}_too =")
    found = audited(text.replace("omega = {", f"{LONG} = {{", 1))
    lines_of = printed_by(found, capsys)
    assert LONG in lines_of
    heading = next(place for place, line in enumerate(lines_of) if line.startswith(f"{LONG}_too "))
    own = [name for name in as_estimands(found.spec) if name.startswith(f"{LONG}_too.")]
    shown = lines_of[heading + 2 : heading + 2 + 4 * len(own)]
    assert shown[::4] == [name.removeprefix(f"{LONG}_too.") for name in own]
    collected = {(x.estimand.name, x.weights): x for x in lines.collect(found)}
    for place, name in enumerate(own):
        block = shown[4 * place + 1 : 4 * place + 4]
        for line, weights in zip(block, found.spec.weights, strict=True):
            assert line.split()[0] == weights
            mine = collected[name, weights]
            assert words.estimate(mine.design, mine.places) in line


def test_a_mixture_without_any_row_of_a_family_is_not_shown(audit, page, capsys):
    """An AUC goes with the empirical mixture alone."""
    ranks = next(x for x in families.families(audit, lines.collect(audit)) if x.kind == "auc")
    assert ranks.weights == ("empirical",)
    heading = next(line for line in printed_by(audit, capsys) if line.startswith("ranks "))
    assert heading.split() == ["ranks", "empirical", "transitions"]
    (table_of,) = [
        found for found in page.tables if found[0][0] == "Row" and found[1][0].startswith("first")
    ]
    assert table_of[0] == ["Row", "empirical", "Units"]


def test_the_terminal_has_one_line_for_each_row_of_a_family(audit, capsys):
    terminal.audit(audit)
    printed = capsys.readouterr().out.splitlines()
    for name, estimand in as_estimands(audit.spec).items():
        if estimand.family is not None:
            row = name.removeprefix(f"{estimand.family}.")
            assert len([x for x in printed if x.startswith(f"  {row}  ")]) == 1
    assert any(line.startswith("stable (empirical): Cross-channel dis") for line in printed)
    assert not any("calibration: " in line for line in printed)


def test_hostile_names_are_escaped():
    text = SPEC.replace("stable =", "'<b>s</b>' =").replace("step_type", "<i>$x_1$")
    text = text.replace('attributes = ["<i>$x_1$"]', "attributes = ['<i>$x_1$']")
    text = text.replace("outcome = { <i>$x_1$ =", "outcome = { '<i>$x_1$' =")
    frame = table().rename(columns={"step_type": "<i>$x_1$"})
    rendered = html.render(audited(text, frame), PROVENANCE)
    assert "<b>s" not in rendered
    assert "<i>" not in rendered
    shown = Page(rendered).text
    assert "<b>s</b>" in shown
    assert "<i>$x_1$ = plan" in shown


def test_a_page_is_the_same_bytes_twice_and_shows_no_missing_number(audit, page):
    once, again = (html.render(audit, PROVENANCE) for _ in range(2))
    assert once == again
    assert not re.search(r"\b(NaN|nan|None|inf|Undefined)\b", page.text)
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_families_of_breakdown_rows_are_kept_in_the_document(audit):
    rows = [Breakdown(**row) for row in audit.document()["breakdowns"]]
    assert {row.name for row in rows if row.by == names.STRATUM} == {
        name for name, item in as_estimands(audit.spec).items() if item.statistic != names.AUC
    }


@pytest.mark.parametrize(
    ("kind", "several"),
    [
        ('signs = { view = ["direct", "generated"] }', "over the waves 1 and 2"),
        (
            'agreement = { view = ["direct", "generated"] }, state = "after"',
            "over the waves 1 and 2",
        ),
        ('omega = { view = ["direct", "generated"] }', "averaged over the waves 1 and 2"),
    ],
)
def test_a_measure_says_itself_what_it_does_with_waves(kind, several):
    before, after = SPEC.replace('["1", "2"]', '["1", "2", "3"]').split("[estimands]")
    ending = after[after.index("[weights]") :]
    for waves, said in ((["1", "2"], several), (["1"], "in the wave 1")):
        spec = parse_spec(f"{before}[estimands]\na = {{ {kind}, wave = {waves} }}\n{ending}")
        assert meaning(spec.estimands["a"]).endswith(f"; {said}")
        assert all(x.description.endswith(f"; {said}") for x in as_estimands(spec).values())


COMPARED = ("both", "second", "first", "middle")
OF_WAVES = """[estimands]
direct = { gain = { view = "direct" } }
generated = { gain = { view = "generated" } }
direct_2 = { gain = { view = "direct" }, wave = ["2"] }
generated_2 = { gain = { view = "generated" }, wave = ["2"] }
both = { omega = { view = ["direct", "generated"] } }
second = { omega = { view = ["direct", "generated"] }, wave = ["2"] }
first = { omega = { view = ["direct", "generated"] }, wave = ["1"] }
middle = { omega = { view = ["direct", "generated"] }, statistic = "median" }
"""


def test_a_comparison_stands_beside_the_gains_of_its_own_waves():
    before, after = SPEC.split("[estimands]")
    found = audited(before + OF_WAVES + after[after.index("[weights]") :])
    collected = lines.collect(found)
    compared = [line for line in collected if line.estimand.name in COMPARED]
    values = {row.name: words.estimate(row) for row in found.rows if row.weights == "empirical"}
    said = {
        finding.name: {weights: details for weights, _, details in finding.statements}
        for finding in findings(found, compared, collected)
    }
    assert f"{values['direct']} and {values['generated']}" in said["both"]["empirical"]
    assert f"{values['direct_2']} and {values['generated_2']}" in said["second"]["empirical"]
    assert values["direct"] != values["direct_2"]
    assert "gains" not in said["first"]["empirical"]  # nobody asked for those of wave 1
    assert "gains" not in said["middle"]["empirical"]
    assert set(said["middle"]) == {"empirical"}  # a median has no row under other mixtures


def test_an_undefined_draw_of_an_auc_lacks_a_class_of_the_outcome_and_no_stratum():
    """Two units of ten succeed: about a tenth of the draws have neither."""
    frame = table().assign(success=lambda x: x["task"].isin(["u0", "u1"]))
    text = SPEC.replace('attributes = ["step_type"]', 'attributes = ["success"]')
    found = audited(text.replace('step_type = "plan"', "success = true"), frame)
    (row,) = [row for row in found.rows if row.name == "ranks.first"]
    assert 0 < row.undefined_draws < 40
    assert any(
        note.startswith(f"{row.undefined_draws} of 100 draws had fewer than two classes of the")
        for note in row.notes
    )
    assert not any("needed stratum" in note for note in row.notes)
