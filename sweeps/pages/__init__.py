"""Pages of studies in Markdown."""
