"""The synthetic generated-view controls: 100 retrievals × 4 controls × 4 layouts.

Every cell is scored beside a generated view. The controls are the trajectory's own view, the view
of a donor in its place, its own view with the state presented last, and its own view under a rule
that makes the evidence primary. 96 trajectories are complete in all four.

The study's own artifacts are not public, so this cohort stands in for them, made in two steps.

1. *Mechanism* (`mechanism`). The trajectories are of the kind of the retrieval face: the view made
   before retrieval has mostly answered, so its own view raises the margin before and dulls the
   evidence after. A donor's view is of another question, and what it asserts is hardly believed.
   State last turns the credit of the view up or down a little; evidence primary takes most of it
   away and lets the evidence count. Task families and word counts, and with them the donors (by
   `fourcorner.donors`), are drawn apart from beliefs; found evidence makes the views longer.
2. *Calibration* (`calibration`). The own gain, and the shifts of state last and of evidence
   primary, are moved to their means. Only the last is published; it is put in, not found. What the
   donor does is left as it is drawn.

Invariant: for every seed the sample has the calibrated means exactly (before rounding to four
decimals), and the same seed gives the same bytes. Pinned by ``tests/test_controls.py``
(``test_means_hold_for_every_seed``, ``test_committed_files_are_regenerated_byte_for_byte``).
"""

from fourcorner.simulate.controls.cohort import DEFAULT_SEED, files, generate
from fourcorner.simulate.controls.mechanism import CONTROLS, FAMILIES

__all__ = ["CONTROLS", "DEFAULT_SEED", "FAMILIES", "files", "generate"]
