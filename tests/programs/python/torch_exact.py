"""PyTorch's convolutions and products on small integers, whose sums are exact in float32 at every
width and in every order: each result of every step is compared with one computed in float64.
"""
import sys

import torch
import torch.nn.functional as F

STEPS = 60


def integers(*shape, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-2, 3, shape, generator=generator).float()


def convolution_wrong(seed):
    pictures = integers(8, 16, 14, 14, seed=seed).requires_grad_()
    weights = integers(16, 16, 3, 3, seed=seed + 1).requires_grad_()
    gradient = integers(8, 16, 14, 14, seed=seed + 2)
    F.conv2d(pictures, weights, padding=1).backward(gradient)
    expected = torch.nn.grad.conv2d_weight(
        pictures.detach().double(), weights.shape, gradient.double(), padding=1)
    return int((weights.grad.double() != expected).sum())


def product_wrong(seed):
    wrong = 0
    for rows, inner, columns in ((96, 64, 96), (17, 300, 65), (256, 256, 64)):
        left = integers(rows, inner, seed=seed)
        right = integers(inner, columns, seed=seed + 1)
        wrong += int(((left @ right).double() != left.double() @ right.double()).sum())
    batch = integers(6, 40, 30, seed=seed), integers(6, 30, 50, seed=seed + 1)
    wrong += int((torch.bmm(*batch).double() != torch.bmm(batch[0].double(),
                                                         batch[1].double())).sum())
    return wrong


def main():
    wrong = 0
    for step in range(STEPS):
        wrong += convolution_wrong(10 * step) + product_wrong(10 * step)
    print(f"torch: {STEPS} steps, {wrong} wrong numbers")
    return 0 if wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
