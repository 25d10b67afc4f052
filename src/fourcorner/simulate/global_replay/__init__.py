"""The synthetic global replay: 100 workflows of 11 steps, scored by option in two sessions.

The study's own artifacts are not public, so this cohort stands in for them, made in two steps.

1. *Mechanism* (`mechanism`). An evaluator scores four options at each of 12 endpoints, from the
   state alone (direct) or beside a generated view, in four cyclic layouts, once in the first
   session and twice in the retries. Retrieval finds evidence or does not, the view has answered
   before, and between endpoints the support for the target wanders in each view.
2. *Calibration* (`calibration`). In each session one amount per trajectory and view, in
   closed form, is added to all endpoints after retrieval, and one slope per layout to the target
   under the generated view. The published means and standard errors are thus put in, not found.
   Counts of signs are not: they come from the mechanism, and the seed was picked for them.

Which scores are missing (`missing`) is drawn apart from all scores.

Invariant: both states that share an endpoint have its scores; cohort sizes and means hold for every
seed, and the same seed gives the same bytes. Pinned by ``tests/test_global_replay.py``
(``test_shared_endpoints_have_the_same_scores``, ``test_means_hold_for_every_seed``,
``test_committed_files_are_regenerated_byte_for_byte``).
"""

from fourcorner.simulate.global_replay.cohort import DEFAULT_SEED, files, generate
from fourcorner.simulate.global_replay.mechanism import CANDIDATES, STEPS, VIEWS, WAVES

__all__ = ["CANDIDATES", "DEFAULT_SEED", "STEPS", "VIEWS", "WAVES", "files", "generate"]
