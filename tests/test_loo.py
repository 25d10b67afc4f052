"""PSIS-LOO by unit, and the comparison of families."""

import re
import warnings
from dataclasses import replace

import arviz as az
import numpy as np
import pytest

import fits
import fourcorner as fc
from fourcorner import cli, comparing
from fourcorner.bayes.tree import group
from fourcorner.checks import loo
from fourcorner.comparing import Comparison, compare
from fourcorner.report import terminal
from fourcorner.results import to_json


def with_density(tree, density):
    """A copy of a fit with another log density of some units."""
    copied = tree.copy(deep=True)
    held = group(copied, "log_likelihood")
    copied["log_likelihood"] = held.assign(cells=(held["cells"].dims, density))
    return copied


def rows_of(tree):
    return {row.target: row for row in loo.check(tree)}


def test_elpd_is_the_harmonic_mean_of_each_units_density():
    """Where no unit is influential, smoothing changes little of plain importance sampling."""
    tree = fits.face().tree
    density = group(tree, "log_likelihood")["cells"].values.reshape(4000, -1)
    plain = -np.log(np.exp(-density).mean(axis=0))
    row = rows_of(tree)["elpd"]
    assert row.value == pytest.approx(plain.sum(), abs=1)
    said = re.search(r"standard error ([\d.]+), of 100 units", row.message)
    assert float(said[1]) == pytest.approx(np.sqrt(len(plain) * plain.var()), abs=0.2)
    assert (row.verdict, row.gated) == ("shown", False)


def test_units_of_a_large_k_are_counted_and_named():
    tree = fits.face().tree
    density = group(tree, "log_likelihood")["cells"].values.copy()
    generator = np.random.default_rng(0)
    for unit in (3, 11):  # importance ratios with a Pareto tail of shape about 2
        density[:, :, unit] = -2 * generator.exponential(size=density.shape[:2])
    rows = rows_of(with_density(tree, density))
    named = group(tree, "log_likelihood")["unit"].values[[3, 11]]
    assert rows["Pareto k"].value == 2
    assert "2 of 100 units" in rows["Pareto k"].message
    assert "refits without each" in rows["Pareto k"].message
    assert "not to be relied on" in rows["elpd"].message
    listed = rows["influential units"].message
    assert all(str(name) in listed for name in named)
    assert rows["influential units"].value > 1


def test_at_most_five_units_are_named():
    tree = fits.face().tree
    density = group(tree, "log_likelihood")["cells"].values.copy()
    density[:, :, :9] = -2 * np.random.default_rng(1).exponential(size=(*density.shape[:2], 9))
    rows = rows_of(with_density(tree, density))
    assert rows["Pareto k"].value == 9
    assert rows["influential units"].message.count("(k ") == 5


def test_a_reliable_estimate_says_so():
    rows = rows_of(fits.face().tree)
    assert rows["Pareto k"].value == 0
    assert "reliable" in rows["Pareto k"].message


def test_a_fit_without_log_likelihood_is_not_run_and_says_why():
    tree = fits.face().tree.copy(deep=True)
    del tree["log_likelihood"]
    tree.attrs["left_out"] = "log_likelihood: more numbers than fit"
    (row,) = loo.check(tree)
    assert (row.verdict, row.gated) == ("not_run", False)
    assert "more numbers than fit" in row.message


# Comparison of families


def test_families_that_fail_check_2_are_not_favoured_whatever_they_foresee():
    found = fits.skewed()
    table = found.table.set_index("family")
    assert list(table.index) == ["student", "normal"]  # the best by LOO first
    assert table.loc["student", "elpd"] > table.loc["normal", "elpd"]
    assert table["gates"].to_dict() == {"student": "fail", "normal": "pass"}
    assert found.favoured == ("normal",)
    said = "\n".join(found.sentences)
    assert "favoured: normal" in said
    assert "student fails design agreement" in said
    assert "pulled to the bulk" in said
    assert "student foresees units better than normal" in said


def test_the_table_is_arvizs_own_of_the_trees_unmodified():
    found = fits.skewed()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        expected = az.compare(dict(found.trees), round_to="none")
    table = found.table.set_index("family")
    assert list(table.index) == list(expected.index)
    for column in ("elpd", "se", "elpd_diff", "dse", "weight"):
        np.testing.assert_allclose(table[column], expected[column].astype(float), rtol=1e-9)


def test_both_families_fit_the_same_cells():
    first, second = (group(tree, "observed_data") for tree in fits.skewed().trees.values())
    assert first.identical(second)


def test_the_document_is_json_and_the_terminal_shows_it(capsys):
    found = fits.skewed()
    document = found.document()
    assert '"favoured"' in to_json(document)
    assert [row["family"] for row in document["families"]] == ["student", "normal"]
    assert {row["verdict"] for row in document["checks"]["student"]} >= {"pass", "fail", "shown"}
    terminal.comparison(found)
    shown = capsys.readouterr().out
    assert "favoured: normal" in shown
    assert "student" in shown


def test_a_family_that_does_not_suit_is_named_and_the_others_stand(monkeypatch):
    """Missing cells are for the normal family alone; its fit is a shared one."""
    fitted = fits.retried()
    monkeypatch.setattr("fourcorner.bayes.engine.fit", fit_of(fitted))
    found = compare(fitted.data, fitted.spec)
    assert list(found.trees) == ["normal"]
    assert found.favoured == ("normal",)
    assert "complete in every cell" in found.not_available["student"]
    assert "the only family fitted" in found.sentences[0]
    assert found.table["elpd"].iloc[0] == pytest.approx(az.loo(fitted.tree).elpd)


def fit_of(fitted):
    """What fits a spec with a shared fit where its family is that fit's own."""
    from fourcorner.spec import unsuited

    def fit(data, spec, **_):
        assert data is fitted.data
        faults = unsuited(spec.model, spec.priors)
        if faults:
            raise fc.NotAvailable("; ".join(faults))
        return fitted.tree

    return fit


def test_families_that_loo_does_not_tell_apart_are_favoured_together(monkeypatch):
    fitted = fits.face()
    other = fitted.tree.copy(deep=True)
    density = group(other, "log_likelihood")["cells"].values
    noise = np.random.default_rng(2).normal(size=density.shape[2])
    noise -= noise.mean()
    trees = {"normal": fitted.tree, "student": with_density(other, density + noise - 0.01)}
    monkeypatch.setattr(
        "fourcorner.bayes.engine.fit", lambda _, spec, **__: trees[spec.model.family]
    )
    found = compare(fitted.data, fitted.spec)
    assert found.favoured == ("normal", "student")  # apart by 1, standard error about 10
    assert "does not tell them apart" in found.sentences[0]
    far = with_density(other, density + 0.1 * noise - 0.5)
    trees["student"] = far
    found = compare(fitted.data, fitted.spec)
    assert found.favoured == ("normal",)  # apart by 50, standard error about 1
    assert "student foresees units worse than normal by 50.0" in "\n".join(found.sentences)


def test_with_no_family_that_passes_none_is_favoured(monkeypatch):
    fitted = fits.face()
    broken = fitted.tree.copy(deep=True)
    held = group(broken, "sample_stats")
    diverging = held["diverging"].values.copy()
    diverging[0, 0] = True
    broken["sample_stats"] = held.assign(diverging=(held["diverging"].dims, diverging))
    monkeypatch.setattr("fourcorner.bayes.engine.fit", lambda *_, **__: broken)
    found = compare(fitted.data, fitted.spec, ["normal"])
    assert found.favoured == ()
    assert "none passes its gates" in found.sentences[0]
    assert "divergences" in found.sentences[1]


def test_a_bayesian_bootstrap_stands_beside_the_others_and_is_not_favoured(monkeypatch, capsys):
    fitted = fits.face()
    monkeypatch.setattr("fourcorner.bayes.engine.fit", lambda *_, **__: fitted.tree)
    alone = compare(fitted.data, fitted.spec, ["normal"])
    found = compare(fitted.data, fitted.spec, ["bayesian_bootstrap", "normal"])
    assert found.favoured == alone.favoured == ("normal",)
    assert found.table["family"].tolist() == ["normal", "bayesian_bootstrap"]
    np.testing.assert_array_equal(found.table["elpd"], [alone.table["elpd"].item(), np.nan])
    assert found.sentences[:-1] == alone.sentences
    assert "LOO cannot compare it" in found.sentences[-1]
    assert found.check_rows["normal"] == alone.check_rows["normal"]
    [last] = [row for row in found.document()["families"] if row["family"] != "normal"]
    assert (last["elpd"], last["gates"]) == (None, "not_run")
    terminal.comparison(found)
    assert "not run" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("families", "words"),
    [
        (("norml",), "did you mean 'normal'"),
        ((), "expected some families"),
        (("normal", "normal"), "each once"),
    ],
)
def test_families_are_named_once_and_known(families, words):
    with pytest.raises(fc.OptionError, match=words):
        fc.compare(None, None, families)


def test_priors_that_a_family_does_not_have_are_left_out_for_it(monkeypatch):
    fitted, asked = fits.face(), []

    def fit(_, spec, **__):
        asked.append((spec.model.family, spec.priors.retry_sd, spec.priors.nu_mean))
        raise fc.NotAvailable("no")

    monkeypatch.setattr("fourcorner.bayes.engine.fit", fit)
    priors = replace(fitted.spec.priors, retry_sd=1.0, nu_mean=8.0)
    with pytest.raises(fc.NotAvailable, match="normal: no; student: no"):
        compare(fitted.data, replace(fitted.spec, priors=priors))
    assert asked == [("normal", 1.0, None), ("student", None, 8.0)]


def test_compare_on_the_command_line(monkeypatch, capsys, tmp_path):
    found = fits.skewed()
    spec = tmp_path / "face.toml"
    text = fits.face_spec().text.replace("[data]\n", '[data]\npath = "face.csv"\n')
    spec.write_text(text)
    fits.heavy_table(12, skewed=True).to_csv(tmp_path / "face.csv", index=False)
    monkeypatch.setattr("fourcorner.api.compare", lambda *_, **__: found)
    assert cli.run(["fit", str(spec), "--compare"]) == 0
    assert "favoured: normal" in capsys.readouterr().out
    nothing = Comparison(**{**vars(found), "favoured": ()})
    monkeypatch.setattr("fourcorner.api.compare", lambda *_, **__: nothing)
    assert cli.run(["fit", str(spec), "--compare", "--json"]) == 2
    assert cli.run(["fit", str(spec), "--compare", "--out", str(tmp_path / "x.nc")]) == 1
    assert "leave one of them out" in capsys.readouterr().err


def test_families_that_suit_are_those_for_as_many_changes_per_unit():
    assert comparing.suited(fits.face().data) == ("normal", "student")
    assert comparing.suited(fits.steps().data) == ("transitions", "bayesian_bootstrap")
