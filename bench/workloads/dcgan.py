#!/usr/bin/python3
"""A deep convolutional GAN on 28x28 grey images, both halves trained, with synthetic data.

After Radford et al., "Unsupervised Representation Learning with Deep Convolutional Generative
Adversarial Networks" (2015): strided and transposed convolutions, batch normalisation, Adam with
a learning rate of 2e-4 and beta1 of 0.5. The reported loss is the sum of both halves.
"""

import sys

import torch
import torch.nn.functional as F
from torch import nn

import training

LATENT = 100
WIDTH = 64
BATCHES = 4  # of synthetic data, used in turn


def generator_network() -> nn.Module:
    """Latent vector -> 7x7 -> 14x14 -> 28x28."""
    return nn.Sequential(
        nn.ConvTranspose2d(LATENT, WIDTH * 2, 7, 1, 0, bias=False),
        nn.BatchNorm2d(WIDTH * 2),
        nn.ReLU(inplace=True),
        nn.ConvTranspose2d(WIDTH * 2, WIDTH, 4, 2, 1, bias=False),
        nn.BatchNorm2d(WIDTH),
        nn.ReLU(inplace=True),
        nn.ConvTranspose2d(WIDTH, 1, 4, 2, 1),
        nn.Tanh(),
    )


def discriminator_network() -> nn.Module:
    """28x28 -> 14x14 -> 7x7 -> one score."""
    return nn.Sequential(
        nn.Conv2d(1, WIDTH, 4, 2, 1),
        nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(WIDTH, WIDTH * 2, 4, 2, 1, bias=False),
        nn.BatchNorm2d(WIDTH * 2),
        nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(WIDTH * 2, 1, 7),
        nn.Flatten(0),
    )


def initialise(module: nn.Module) -> None:
    """The paper's initial weights: normal with a deviation of 0.02."""
    if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(module.weight, 0.0, 0.02)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1.0, 0.02)
        nn.init.zeros_(module.bias)


def make(options: training.Options) -> training.Trainer:
    generate = generator_network().apply(initialise)
    judge = discriminator_network().apply(initialise)
    run_generator = training.as_asked(options, generate)
    run_judge = training.as_asked(options, judge)
    settings = {"lr": 2e-4, "betas": (0.5, 0.999), "foreach": True}
    generate_optimizer = torch.optim.Adam(generate.parameters(), **settings)
    judge_optimizer = torch.optim.Adam(judge.parameters(), **settings)
    source = torch.Generator().manual_seed(options.seed)
    images = torch.tanh(torch.randn(BATCHES, options.batch, 1, 28, 28, generator=source))
    latents = torch.randn(BATCHES, options.batch, LATENT, 1, 1, generator=source)
    real = torch.ones(options.batch)
    fake = torch.zeros(options.batch)

    def step(index: int) -> float:
        made = run_generator(latents[index % BATCHES])

        judge_optimizer.zero_grad(set_to_none=True)
        judge_loss = F.binary_cross_entropy_with_logits(run_judge(images[index % BATCHES]), real)
        judge_loss = judge_loss + F.binary_cross_entropy_with_logits(run_judge(made.detach()), fake)
        judge_loss.backward()
        judge_optimizer.step()

        generate_optimizer.zero_grad(set_to_none=True)
        generate_loss = F.binary_cross_entropy_with_logits(run_judge(made), real)
        generate_loss.backward()
        generate_optimizer.step()
        return judge_loss.item() + generate_loss.item()

    return training.StepTrainer(step)


if __name__ == "__main__":
    sys.exit(training.main("dcgan", 64, make))
