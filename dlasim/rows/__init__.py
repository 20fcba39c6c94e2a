"""Tables in memory: as text, as HTML, as data frames."""
