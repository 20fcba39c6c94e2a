"""The `dlasim` command. A command is the object `command` in `dlasim/cli/NAME.py`; its line of help is in the
table below, so that `dlasim --help` imports none of these modules."""

import click

from dlasim import __version__
from dlasim.cli.group import LazyGroup

COMMANDS = {
    "From model to cycles": {
        "model": "write a built-in network as an int8 .tflite file",
        "quantize": "make an int8 network of a float one",
        "inspect": "show a model's inputs, outputs, operators and sizes",
        "compile": "compile a model to a program for one machine",
        "run": "run a model or program and report its outputs and cycles",
        "verify": "compare every tensor of a model with TensorFlow or onnxruntime",
        "evaluate": "count how often a model's classes are right",
        "explain": "show what the compiler did with each operator, and why",
        "tokens": "show how fast language models read a prompt and answer",
        "sweep": "run models on many machines and write one table",
        "search": "find the best machines in a space too large to sweep",
        "confirm": "run the best machines of a sweep bit-exactly and on the RTL",
        "plot": "draw charts from the table of a sweep",
        "report": "write an interactive page of a run, two runs or a sweep",
    },
    "Assembly": {"asm": "assemble text into a program", "disasm": "disassemble a program into text"},
    "Reference": {
        "isa": "look up instructions, registers, faults and file formats",
        "doctor": "show versions, CPU features and missing packages",
    },
}
_EPILOG = """\b
Examples:
  dlasim model resnet8 -o resnet8.tflite     write a built-in network
  dlasim run resnet8.tflite                  show its cycles, layer by layer
  dlasim run resnet8.tflite --pes 128 --sram 64KiB --parallel input
  dlasim COMMAND --help                      show a command's options
"""


@click.group(
    cls=LazyGroup,
    epilog=_EPILOG,
    package=__name__,
    sections=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
)
@click.version_option(__version__, message="dlasim %(version)s")
def main() -> None:
    """Simulate an int8 deep-learning accelerator: bit-exact results, explained in cycles."""
