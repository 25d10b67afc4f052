"""The synthetic retrieval cube: 100 retrievals × 3 views × 2 authority policies × 4 layouts.

The study's own artifacts are not public, so this cohort stands in for them, made in two steps.

1. *Mechanism* (`mechanism`). Every trajectory holds beliefs over four options. Retrieval finds
   evidence or does not; the generated view may assert an answer before any evidence was read; the
   strengths of evidence and assertion are log-normal, gamma and Student draws that multiply. A
   cell's noise-free margin is the target's score minus its nearest rival's. Layouts then add an
   offset of their own, scaled by trajectory, and heavy-tailed noise that grows with the margin. No
   step draws from a normal model of cells with stratum means, which is the model this package fits.
2. *Calibration* (`calibration`). The finished draws are shifted and scaled by constants solved in
   closed form, so that the *sample*, layout noise included, has the published means, and the
   bootstrap standard errors that the published intervals imply. Each map is affine within its
   stratum, so shapes and ties to the latents stay. For the generated-versus-quote interaction the
   two large strata share one shift and one spread, and so do the two small ones: four constants for
   two means and two standard errors. Quote-versus-empty takes a shift and a scale; the authority
   shift and the quote gain a shift each. The published figures are thus put in, not found:
   agreement with them checks an estimator and is no evidence about the study.

Invariant: for every seed the sample has the calibrated means exactly (before rounding to four
decimals), and the same seed gives the same bytes. Pinned by ``tests/test_retrieval_cube.py``
(``test_published_figures_are_found``, ``test_means_hold_for_every_seed``,
``test_committed_files_are_regenerated_byte_for_byte``).
"""

from fourcorner.simulate.retrieval_cube.cohort import DEFAULT_SEED, files, generate
from fourcorner.simulate.retrieval_cube.mechanism import AUTHORITIES, VIEWS

__all__ = ["AUTHORITIES", "DEFAULT_SEED", "VIEWS", "files", "generate"]
