"""A one-legged robot learns to hop: PPO of Stable-Baselines3 on 64 hoppers that run at once.

    python examples/ppo_hopper.py [STEPS]

STEPS: environment steps to learn from. 65,000 take some ten seconds, and the return rises by a
factor of ten; with 2,000,000, a few minutes, the robot hops. Prints the mean return on the way.
"""

import sys

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize

import cycloid.gym


class Returns(BaseCallback):
    """Mean return of the last hundred episodes, noted and printed after every batch of steps."""

    def _on_training_start(self):
        self.means = []

    def _on_rollout_end(self):
        self.means.append(float(np.mean([e["r"] for e in self.model.ep_info_buffer or ()])))
        if len(self.means) % 4 == 1:
            print(f"{self.num_timesteps:9,d} steps: mean return {self.means[-1]:7.1f}", flush=True)

    def _on_step(self):
        return True


def main(steps=65_000):
    torch.set_num_threads(1)  # the networks are small
    # Gymnasium's Hopper-v5, in single precision. Stable-Baselines3 expects what ends in a step to
    # begin anew in that step.
    hoppers = cycloid.gym.make("Hopper", 64, dtype="float32", autoreset_mode="SameStep")
    env = VecNormalize(VecMonitor(cycloid.gym.StableBaselines(hoppers)), gamma=0.99)
    model = PPO("MlpPolicy", env, n_steps=128, batch_size=1024, n_epochs=8, learning_rate=5e-4,
                seed=0, device="cpu")
    returns = Returns()
    model.learn(steps, callback=returns)
    return returns.means


if __name__ == "__main__":
    means = main(*(int(argument.replace(",", "")) for argument in sys.argv[1:2]))
    print(f"mean return: {means[0]:.1f} at first, {means[-1]:.1f} at the end")
    assert means[-1] > 5 * means[0], "the return did not rise as it should"
