"""Seeds, and states that are set, of cycloid.gym's environments."""

import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

import cycloid as cy
import cycloid.gym

NAME = "InvertedPendulum"


def pendulums(count=2, **keywords):
    return cycloid.gym.VectorEnv(cy.systems.pendulum(), count, **keywords)


@pytest.mark.parametrize("seed", [11, [11, 12, 13], [None, 7, None]])
def test_a_masked_reset_seeds_what_it_resets(seed):
    """As Gymnasium's SyncVectorEnv does: the others go on with their own generators."""
    ours = cycloid.gym.make(NAME, 3, autoreset_mode="Disabled")
    singles = [lambda: cycloid.gym._make_single(NAME)] * 3
    theirs = SyncVectorEnv(singles, autoreset_mode="Disabled")
    masks = [np.array([False, True, False]), np.array([True, False, True]), np.ones(3, bool)]
    for env in (ours, theirs):
        env.reset(seed=5)
    np.testing.assert_array_equal(ours.states[:2] != ours.states[2], np.ones((2, 4), bool))
    for mask, own in zip(masks, (seed, None, None)):
        got, expected = (
            env.reset(seed=own, options={"reset_mask": mask.copy()})[0] for env in (ours, theirs)
        )
        np.testing.assert_array_equal(got, expected)
