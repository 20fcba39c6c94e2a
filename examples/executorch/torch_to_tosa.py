"""A PyTorch module through ExecuTorch's Arm quantizer to TOSA: `python torch_to_tosa.py FOLDER`.

It writes FOLDER/output.tosa, which `dlasim run`, `explain` and `verify` take. It needs executorch, torchao,
torch and tosa-tools, with which ExecuTorch's Arm backend writes TOSA.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from executorch.backends.arm.quantizer import TOSAQuantizer, get_symmetric_quantization_config
from executorch.backends.arm.tosa.compile_spec import TosaCompileSpec
from executorch.backends.arm.tosa.partitioner import TOSAPartitioner
from executorch.exir import to_edge_transform_and_lower
from torch import Tensor, nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

SAMPLES = 16


class Residual(nn.Module):
    """Convolutions with a skip, an average, and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 64, 3, 2, 1)
        self.wide, self.back = nn.Conv2d(64, 256, 3, 1, 1), nn.Conv2d(256, 64, 3, 1, 1)
        self.out = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.first(x))
        x = torch.relu(x + self.back(torch.relu(self.wide(x))))
        return self.out(x.mean((2, 3)))


def main(folder: str) -> None:
    """Quantize the module with samples of noise, and keep what the backend takes of it."""
    torch.manual_seed(0)
    example = (torch.randn(1, 3, 32, 32),)
    specification = TosaCompileSpec("TOSA-1.0+INT").dump_intermediate_artifacts_to(folder)
    quantizer = TOSAQuantizer(specification)
    quantizer.set_global(get_symmetric_quantization_config())
    prepared = prepare_pt2e(torch.export.export(Residual().eval(), example).module(), quantizer)
    for _ in range(SAMPLES):
        prepared(torch.randn(example[0].shape))
    exported = torch.export.export(convert_pt2e(prepared), example)
    to_edge_transform_and_lower(exported, partitioner=[TOSAPartitioner(specification)])
    found = sorted(Path(folder).glob("*.tosa"))
    found[0].rename(Path(folder) / "output.tosa")


if __name__ == "__main__":
    main(sys.argv[1])
