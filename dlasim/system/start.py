"""Runs `main` of a dlasim module in a new process: `python -P dlasim/system/start.py MODULE ARGUMENT…`.

The package is loaded from the folder above this file, not searched for on sys.path, so that neither the
current folder nor another installation can replace it. `dlasim.system.processes` makes the command line.
"""

import os
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location


def main() -> None:
    """Load the package, then call `main` of the module with the remaining arguments."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    spec = spec_from_file_location(
        "dlasim", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    assert spec is not None
    assert spec.loader is not None
    package = module_from_spec(spec)
    sys.modules["dlasim"] = package
    spec.loader.exec_module(package)
    module, *arguments = sys.argv[1:]
    sys.exit(import_module(module).main(arguments))


if __name__ == "__main__":
    main()
