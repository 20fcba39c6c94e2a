"""The firmware: C sources, generated headers and the prebuilt image, shipped as package data."""
