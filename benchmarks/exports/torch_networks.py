"""Networks of torchvision, and others of today's shapes in plain PyTorch, with seeded weights."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torchvision
from torch import Tensor, nn
from torch.nn import functional as f
from torchvision import models
from torchvision.models.convnext import CNBlockConfig, ConvNeXt

Sample = tuple[Tensor, ...]
IMAGE = 64  # rows and columns


class Normalized(nn.Module):
    """Convolution, BatchNorm and ReLU."""

    def __init__(self, given: int, out: int, stride: int = 1, activation: type[nn.Module] = nn.ReLU) -> None:
        super().__init__()
        self.parts = nn.Sequential(
            nn.Conv2d(given, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), activation()
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.parts(x)


class UNet(nn.Module):
    """Down by MaxPool, up by transposed convolutions and by interpolation, with skips."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([Normalized(3, 16), Normalized(16, 32), Normalized(32, 64)])
        self.up = nn.ConvTranspose2d(64, 32, 2, 2)
        self.middle, self.last = Normalized(64, 32), Normalized(48, 16)
        self.out = nn.Conv2d(16, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        a = self.down[0](x)
        b = self.down[1](f.max_pool2d(a, 2))
        c = self.up(self.down[2](f.max_pool2d(b, 2)))
        b = self.middle(torch.cat([b, c], 1))
        b = f.interpolate(b, scale_factor=2.0, mode="bilinear", align_corners=False)
        return self.out(self.last(torch.cat([a, b], 1)))


class MaskedEncoder(nn.Module):
    """A text encoder: embeddings of tokens and positions, attention under a mask, as BERT has them."""

    def __init__(self, features: int = 64, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.tokens, self.positions = nn.Embedding(500, features), nn.Embedding(32, features)
        self.first = nn.LayerNorm(features)
        self.blocks = nn.ModuleList(Attending(features, heads) for _ in range(layers))
        self.out = nn.Linear(features, 3)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        x = self.first(x)
        bias = (1.0 - mask[:, None, None, :].to(x.dtype)) * -10000.0
        for block in self.blocks:
            x = block(x, bias)
        return self.out(torch.tanh(x[:, 0]))


class Attending(nn.Module):
    """Attention and a feed-forward part, each with a residual and LayerNorm behind it."""

    def __init__(self, features: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(features, features) for _ in range(4))
        self.one, self.two = nn.LayerNorm(features), nn.LayerNorm(features)
        self.wide, self.narrow = nn.Linear(features, 4 * features), nn.Linear(4 * features, features)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        batch, length, features = x.shape
        query, key, value = (
            part(x).view(batch, length, self.heads, -1).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        scores = query @ key.transpose(-1, -2) / (features // self.heads) ** 0.5 + bias
        y = (scores.softmax(-1) @ value).transpose(1, 2).reshape(batch, length, features)
        x = self.one(x + self.out(y))
        return self.two(x + self.narrow(f.gelu(self.wide(x))))


class CachedDecoder(nn.Module):
    """One token of a decoder: keys and values of those before come in, and go out with one more."""

    def __init__(self, features: int = 64, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        self.heads, self.tokens = heads, nn.Embedding(500, features)
        self.norms = nn.ModuleList(nn.LayerNorm(features) for _ in range(2 * layers + 1))
        self.joined = nn.ModuleList(nn.Linear(features, 3 * features) for _ in range(layers))
        self.back = nn.ModuleList(nn.Linear(features, features) for _ in range(layers))
        self.wide = nn.ModuleList(nn.Linear(features, 4 * features) for _ in range(layers))
        self.narrow = nn.ModuleList(nn.Linear(4 * features, features) for _ in range(layers))
        self.out = nn.Linear(features, 500, bias=False)

    def forward(self, token: Tensor, *past: Tensor) -> list[Tensor]:
        x, caches = self.tokens(token), []
        for layer, joined in enumerate(self.joined):
            parts = joined(self.norms[2 * layer](x)).chunk(3, -1)
            query, key, value = (part.view(1, 1, self.heads, -1).transpose(1, 2) for part in parts)
            key = torch.cat([past[2 * layer], key], 2)
            value = torch.cat([past[2 * layer + 1], value], 2)
            shares = (query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5).softmax(-1)
            x = x + self.back[layer]((shares @ value).transpose(1, 2).reshape(1, 1, -1))
            y = f.silu(self.wide[layer](self.norms[2 * layer + 1](x)))
            x = x + self.narrow[layer](y)
            caches += [key, value]
        return [self.out(self.norms[-1](x)), *caches]


class Recurrent(nn.Module):
    """LSTM or GRU over a sequence, and a classifier of its last state."""

    def __init__(self, kind: type[nn.Module], **options: object) -> None:
        super().__init__()
        self.cells = kind(20, 32, batch_first=True, **options)
        self.out = nn.Linear(64 if options.get("bidirectional") else 32, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.cells(x)[0][:, -1])


class TemporalNetwork(nn.Module):
    """A TCN: causal dilated convolutions of one dimension, with residuals."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(12, 24, 1)
        self.parts = nn.ModuleList(nn.Conv1d(24, 24, 3, dilation=1 << step) for step in range(4))
        self.out = nn.Linear(24, 6)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for step, part in enumerate(self.parts):
            x = torch.relu(x + part(f.pad(x, (2 << step, 0))))
        return self.out(x.mean(2))


class YoloHead(nn.Module):
    """A small YOLO: SiLU, SPPF, up-sampling, two heads, and boxes of both by distances over 16 bins."""

    def __init__(self, classes: int = 8, bins: int = 16) -> None:
        super().__init__()
        self.classes, self.bins = classes, bins
        silu = nn.SiLU
        self.stem = nn.Sequential(*(Normalized(a, b, 2, silu) for a, b in ((3, 16), (16, 32), (32, 64))))
        self.deep, self.pooled = Normalized(64, 64, 2, silu), nn.Conv2d(256, 64, 1)
        self.joined = Normalized(128, 64, 1, silu)
        self.boxes = nn.ModuleList(nn.Conv2d(64, 4 * bins, 1) for _ in range(2))
        self.scores = nn.ModuleList(nn.Conv2d(64, classes, 1) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        fine = self.stem(x)
        pools = [self.deep(fine)]
        for _ in range(3):
            pools.append(f.max_pool2d(pools[-1], 5, 1, 2))
        deep = self.pooled(torch.cat(pools, 1))
        fine = self.joined(torch.cat([fine, f.interpolate(deep, scale_factor=2.0)], 1))
        found = []
        for place, (image, stride) in enumerate(((fine, 8), (deep, 16))):
            rows, columns = image.shape[2:]
            shares = self.boxes[place](image).view(len(image), 4, self.bins, rows * columns).softmax(2)
            distance = (shares * torch.arange(self.bins).view(1, 1, -1, 1)).sum(2)
            y, x = torch.meshgrid(torch.arange(rows) + 0.5, torch.arange(columns) + 0.5, indexing="ij")
            centre = torch.stack([x, y]).view(1, 2, -1)
            low, high = centre - distance[:, :2], centre + distance[:, 2:]
            box = torch.cat([(low + high) / 2, high - low], 1) * stride
            score = self.scores[place](image).view(len(image), self.classes, -1).sigmoid()
            found.append(torch.cat([box, score], 1))
        return torch.cat(found, 2)


def _image(size: int = IMAGE) -> Sample:
    return (torch.randn(1, 3, size, size),)


def _text() -> Sample:
    return torch.randint(0, 500, (1, 24)), (torch.arange(24) < 18).long()[None]


def _step() -> Sample:
    return torch.randint(0, 500, (1, 1)), *(torch.randn(1, 4, 15, 16) for _ in range(4))


class OnlyOut(nn.Module):
    """A segmentation network of torchvision without the dictionary around its result."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        return self.network(x)["out"]


def _convnext() -> nn.Module:
    stages = [CNBlockConfig(32, 64, 1), CNBlockConfig(64, 128, 1), CNBlockConfig(128, None, 1)]
    return ConvNeXt(stages, layer_scale=0.5, num_classes=10)


def _vit() -> nn.Module:
    return models.VisionTransformer(
        IMAGE, 8, num_layers=2, num_heads=4, hidden_dim=64, mlp_dim=128, num_classes=10
    )


def _swin() -> nn.Module:
    return models.SwinTransformer([4, 4], 32, [2, 2], [2, 4], [4, 4], num_classes=10)


# Each with what makes a sample of its inputs.
NETWORKS: dict[str, tuple[Callable[[], nn.Module], Callable[[], Sample]]] = {
    "ResNet-18": (models.resnet18, _image),
    "MobileNetV2": (models.mobilenet_v2, _image),
    "MobileNetV3 small": (models.mobilenet_v3_small, _image),
    "EfficientNet-B0": (models.efficientnet_b0, _image),
    "RegNet-Y 400MF": (models.regnet_y_400mf, _image),
    "ShuffleNetV2 0.5": (models.shufflenet_v2_x0_5, _image),
    "GoogLeNet": (lambda: models.googlenet(aux_logits=False, init_weights=True), _image),
    "DenseNet-121": (models.densenet121, _image),
    "SqueezeNet 1.1": (models.squeezenet1_1, _image),
    "LR-ASPP": (
        lambda: OnlyOut(models.segmentation.lraspp_mobilenet_v3_large(weights_backbone=None)),
        _image,
    ),
    "ViT": (_vit, _image),
    "Swin": (_swin, _image),
    "ConvNeXt": (_convnext, _image),
    "U-Net": (UNet, _image),
    "encoder with a mask": (MaskedEncoder, _text),
    "decoder with a cache": (CachedDecoder, _step),
    "LSTM": (lambda: Recurrent(nn.LSTM), lambda: (torch.randn(1, 12, 20),)),
    "LSTM, two directions": (
        lambda: Recurrent(nn.LSTM, bidirectional=True),
        lambda: (torch.randn(1, 12, 20),),
    ),
    "GRU": (lambda: Recurrent(nn.GRU, num_layers=2), lambda: (torch.randn(1, 12, 20),)),
    "TCN": (TemporalNetwork, lambda: (torch.randn(1, 12, 40),)),
    "YOLO head": (YoloHead, _image),
}


def build(name: str) -> tuple[nn.Module, list[Sample]]:
    """The network, and samples to calibrate with; statistics of BatchNorm are those of the samples."""
    torch.manual_seed(sorted(NETWORKS).index(name))
    make, sample = NETWORKS[name]
    network = make()
    samples = [sample() for _ in range(8)]
    _settle_norms(network, samples)
    return network.eval(), samples


def _settle_norms(network: nn.Module, samples: list[Sample]) -> None:
    norms = [part for part in network.modules() if isinstance(part, nn.modules.batchnorm._BatchNorm)]
    if not norms:
        return
    network.eval()
    for norm in norms:
        norm.momentum = None  # the mean over all batches
        norm.train()
    with torch.no_grad():
        network(torch.cat([sample[0] for sample in samples]))


VERSIONS = f"torch {torch.__version__.split('+')[0]}, torchvision {torchvision.__version__.split('+')[0]}"
