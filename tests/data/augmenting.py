"""Small helpers of the augmentations' tests."""

import torch

HEIGHT, WIDTH = 236, 248
IMAGENET = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])


def make_images(count=2, channels=3, height=HEIGHT, width=WIDTH, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (count, channels, height, width), dtype=torch.uint8, generator=generator)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)
