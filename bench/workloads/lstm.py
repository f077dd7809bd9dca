#!/usr/bin/python3
"""A two-layer LSTM language model on synthetic text.

The small configuration of Zaremba et al., "Recurrent Neural Network Regularization" (2014): batch
20, 20 steps through time, 200 hidden units, a vocabulary of 10,000, plain gradient descent with
clipped gradients; the state is carried from one step to the next, without its history.
"""

import sys
from typing import Optional, Tuple

import torch
import torch.nn.functional as F
from torch import nn

import training

VOCABULARY = 10_000
HIDDEN = 200
LAYERS = 2
STEPS_THROUGH_TIME = 20
SEGMENTS = 64  # of synthetic text, used in turn
CLIP = 5.0

State = Tuple[torch.Tensor, torch.Tensor]


class LanguageModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, HIDDEN)
        self.recur = nn.LSTM(HIDDEN, HIDDEN, LAYERS)
        self.predict = nn.Linear(HIDDEN, VOCABULARY)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -0.1, 0.1)

    def forward(
        self, words: torch.Tensor, state: Optional[State]
    ) -> Tuple[torch.Tensor, State]:
        outputs, state = self.recur(self.embed(words), state)
        return self.predict(outputs), state


def synthetic_text(batch: int, seed: int) -> torch.Tensor:
    """Words by Zipf's law, so that there is something to learn: (time, batch)."""
    source = torch.Generator().manual_seed(seed)
    weights = 1.0 / torch.arange(1, VOCABULARY + 1, dtype=torch.float64)
    length = SEGMENTS * STEPS_THROUGH_TIME + 1
    words = torch.multinomial(weights, length * batch, replacement=True, generator=source)
    return words.reshape(length, batch)


def make(options: training.Options) -> training.Trainer:
    model = LanguageModel()
    run = training.as_asked(options, model)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, foreach=True)
    text = synthetic_text(options.batch, options.seed)
    state: Optional[State] = None

    def step(index: int) -> float:
        nonlocal state
        start = (index % SEGMENTS) * STEPS_THROUGH_TIME
        words = text[start : start + STEPS_THROUGH_TIME]
        next_words = text[start + 1 : start + STEPS_THROUGH_TIME + 1]
        if state is not None:
            state = (state[0].detach(), state[1].detach())
        optimizer.zero_grad(set_to_none=True)
        scores, state = run(words, state)
        loss = F.cross_entropy(scores.reshape(-1, VOCABULARY), next_words.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        return loss.item()

    return training.StepTrainer(step)


if __name__ == "__main__":
    sys.exit(training.main("lstm", 20, make))
