"""What writes the generated files: pages, headers, typed dictionaries. `tools/generate.py` lists them."""
