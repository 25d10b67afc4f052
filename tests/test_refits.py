"""Exact leave-one-out: a refit without a unit gives what importance sampling gives elsewhere."""

from copy import deepcopy

import numpy as np
import pytest

import fits
import fourcorner as fc
from fourcorner import names
from fourcorner.bayes import engine
from fourcorner.bayes.tree import group
from fourcorner.checks import loo, refits


def marked(found, places):
    """The same result, some units of which are said to have a large k."""
    found = deepcopy(found)
    found.pareto_k[places] = 0.9
    return found


@pytest.mark.parametrize(("fitted", "place"), [(fits.face, 3), (fits.heavy, 80)])
def test_a_refit_agrees_with_importance_sampling_where_that_is_reliable(fitted, place):
    found = loo.leave_one_out(fitted().tree)
    assert found.pareto_k.values[place] < 0.5
    told = []
    exact = refits.exact(
        marked(found, [place]), fitted().data, fitted().spec, fitted().tree, tell=told.append
    )
    unit = str(found.pareto_k[names.UNIT].values[place])
    assert told == [f"refitting without {unit}"]
    assert exact.pareto_k.values[place] == 0
    term, before = exact.elpd_i.values[place], found.elpd_i.values[place]
    assert term != before
    assert term == pytest.approx(before, abs=0.15)  # Monte-Carlo error of a unit's log density
    assert exact.elpd == pytest.approx(found.elpd + term - before)


def test_the_density_of_a_unit_under_its_own_fit_is_the_one_that_the_fit_kept():
    for fitted in (fits.face(), fits.steps(), fits.retried()):
        kept = group(fitted.tree, names.LOG_LIKELIHOOD)[names.CELLS]
        again = refits.log_density(fitted.tree, fitted.tree, 4)
        np.testing.assert_allclose(again.values, kept.isel({names.UNIT: 4}).values, rtol=1e-9)


def test_priors_of_a_refit_are_those_of_the_whole_fit():
    fitted = fits.face()
    held = refits.held_priors(fitted.tree, fitted.spec.priors)
    cells = group(fitted.tree, names.OBSERVED_DATA)[names.CELLS]
    assert held.score_location == pytest.approx(float(cells.mean()))
    assert held.tau_sd is None


@pytest.mark.parametrize("places", [[], list(range(6))])
def test_nothing_is_refitted_where_nothing_or_too_much_is_unreliable(places, monkeypatch):
    fitted = fits.face()
    monkeypatch.setattr(engine, "fit", None)
    found = marked(loo.leave_one_out(fitted.tree), places)
    assert refits.exact(found, fitted.data, fitted.spec, fitted.tree, most=5) is found


def test_a_stratum_that_is_lost_with_its_unit_is_refused(monkeypatch):
    fitted = fits.face()
    without = fits.unstratified().tree
    monkeypatch.setattr(engine, "fit", lambda *_: without)
    wrapper = refits.Refits(fitted.data, fitted.spec, fitted.tree, lambda _: None)
    with pytest.raises(fc.NotAvailable, match="only one of its stratum"):
        wrapper.sample(fitted.data)
