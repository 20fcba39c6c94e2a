"""The `dlasim` command."""

import click


@click.group()
@click.version_option(package_name="dlasim")
def main() -> None:
    """Simulate an int8 deep-learning accelerator."""
