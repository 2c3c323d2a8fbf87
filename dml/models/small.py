"""Small backbones, and two without weights. Each class is a part."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional

from dml.models._wrapped import Untrained


class Identity(Untrained, nn.Module):
    """No network: the head is trained on the input itself, such as vectors that another network has computed.

    images (N, C, S, S) -> (N, C * S * S), unchanged; vectors are images of one pixel with C channels. `channels`,
    `image_size`: C and S; None: 1.
    """

    version: ClassVar[int] = 1
    square: ClassVar[bool] = True

    def __init__(self, channels: int = 3, image_size: int | None = None):
        super().__init__()
        self.features = channels * (image_size or 1) ** 2

    def forward(self, images: Tensor) -> Tensor:
        return images.flatten(1)


LARGEST = 32  # pixels of a side of the reduced images


class Pixels(Untrained, nn.Module):
    """No network: the pixels of reduced images, such as a baseline in closed form takes where nothing is pretrained.

    images (N, C, H, W) -> (N, C * S * S): means over areas of the image, with S = min(32, image_size). `channels`: C.
    `image_size`: side of the images; None: at least 32. Images that are not square are reduced to squares too.
    """

    version: ClassVar[int] = 1

    def __init__(self, channels: int = 3, image_size: int | None = None):
        super().__init__()
        self._side = min(LARGEST, image_size or LARGEST)
        self.features = channels * self._side**2

    def forward(self, images: Tensor) -> Tensor:
        return functional.adaptive_avg_pool2d(images, self._side).flatten(1)


class Mlp(Untrained, nn.Module):
    """A perceptron on flattened pixels: the smallest network, for tests and tiny images.

    images (N, C, S, S) -> (N, width): one hidden layer with batch norm and ReLU. `channels`, `image_size`: C and S of
    the images. `width`: units of the hidden layer.
    """

    version: ClassVar[int] = 1
    square: ClassVar[bool] = True

    def __init__(self, channels: int = 1, image_size: int | None = None, width: int = 128):
        super().__init__()
        if image_size is None:
            raise ValueError("backbone 'mlp': image_size: expected a number, got None; set the dataset's `resize`")
        self.features = width
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Linear(channels * image_size**2, width), nn.BatchNorm1d(width), nn.ReLU()
        )

    def forward(self, images: Tensor) -> Tensor:
        return self.layers(images)


class SmallConv(Untrained, nn.Module):
    """A small convolutional network for grey or colour images of 8 to 64 pixels a side, fast enough for a CPU.

    images (N, C, H, W) -> (N, 4 * width * grid^2).

    Three blocks of 3x3 convolution, batch norm and ReLU, then the mean over each part of a grid. `channels`: C of the
    images. `image_size`: ignored; the mean accepts any size. `width`: channels of the first block; the second has twice
    as many at half the resolution, the third four times as many at a quarter. `grid`: rows and columns of equal parts
    over which the mean is taken. 1: over the whole image, so where something is does not matter; 2: over its quarters.
    """

    version: ClassVar[int] = 1

    def __init__(self, channels: int = 1, image_size: int | None = None, width: int = 16, grid: int = 1):
        super().__init__()
        if grid < 1:
            raise ValueError(f"backbone 'small_conv': grid: expected at least 1, got {grid}")
        self.features = 4 * width * grid**2
        widths = [channels, width, 2 * width, 4 * width]
        blocks: list[nn.Module] = []
        for index in range(3):
            blocks += [
                nn.Conv2d(widths[index], widths[index + 1], 3, padding=1, stride=1 if index == 0 else 2, bias=False),
                nn.BatchNorm2d(widths[index + 1]),
                nn.ReLU(inplace=True),
            ]
        self.layers = nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(grid), nn.Flatten())

    def forward(self, images: Tensor) -> Tensor:
        return self.layers(images)


class EpsMnist(Untrained, nn.Module):
    """The MNIST network of the easy-positive-sampling paper (Levi et al., sec. 5.1, app. C).

    Two 3x3 convolutions (32 and 64 channels), each followed by ReLU and then batch norm, a 2x2 max-pool, and a dense
    layer of 128 with ReLU. The dense layer to the plane is the embedding head (`embedding_size: 2`). The paper names
    no activation between the two dense layers. Here there is ReLU: without one they are a single linear map.

    images (N, C, S, S) -> (N, 128). `channels`, `image_size`: C and S of the images; S is at least 6 pixels.
    """

    version: ClassVar[int] = 1
    square: ClassVar[bool] = True

    def __init__(self, channels: int = 1, image_size: int | None = 28):
        super().__init__()
        if image_size is None or image_size < 6:
            raise ValueError(f"backbone 'eps_mnist': image_size: expected at least 6 pixels, got {image_size}")
        self.features = 128
        side = (image_size - 4) // 2
        self.layers = nn.Sequential(
            nn.Conv2d(channels, 32, 3),
            nn.ReLU(inplace=True),
            nn.BatchNorm2d(32),
            nn.Conv2d(32, 64, 3),
            nn.ReLU(inplace=True),
            nn.BatchNorm2d(64),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(64 * side * side, 128),
            nn.ReLU(inplace=True),
        )

    def forward(self, images: Tensor) -> Tensor:
        return self.layers(images)
