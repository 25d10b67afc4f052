"""The synthetic bridge: 100 retrievals × 2 views × 3 evaluators × 4 layouts × 4 waves.

An evaluator is a readout on a stack: A is joint on deepseek, B binary on deepseek, C binary on
gpt4o. The fourth corner, joint on gpt4o, was not scored, and nothing links the three scales. The
study's own artifacts are not public, so this cohort stands in for them, made in two steps.

1. *Mechanism* (`mechanism`). Stacks hold beliefs over four options, readouts turn them into option
   scores. Evidence is found or not; the generated view may assert an answer before anything was
   read; gpt4o is swayed the more by what a view asserts. Strengths are log-normal and gamma,
   shares beta, what is left Student-t. Layouts and retries add offsets and noise.
2. *Calibration* (`calibration`). At each vertex the interaction is shifted and scaled within its
   stratum by constants in closed form, so that the sample, noise included, has the published means
   of both target mixtures and the standard error of the equal-target interval. The quote gain takes
   one shift. The published figures are thus put in, not found; how well margins rank success is
   found, and the coins of success were picked for it.

Invariant: for every seed the sample has the calibrated means exactly (before rounding to four
decimals), and the same seed gives the same bytes. Pinned by ``tests/test_bridge.py``
(``test_means_and_spreads_hold_for_every_seed``,
``test_committed_files_are_regenerated_byte_for_byte``).
"""

from fourcorner.simulate.bridge.cohort import DEFAULT_SEED, files, generate
from fourcorner.simulate.bridge.mechanism import VERTICES, VIEWS, WAVES

__all__ = ["DEFAULT_SEED", "VERTICES", "VIEWS", "WAVES", "files", "generate"]
