"""Source lines of the command words: those of this text, or what its `.line` directives say."""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from dlasim.dataclass import dataclass
from dlasim.isa.assembly.source import SourceText, TextPosition
from dlasim.isa.container.reader import MAX_LINE
from dlasim.isa.file_records import LINES
from dlasim.isa.source_lines import SourceLines


@dataclass(frozen=True, slots=True)
class _OpenRun:
    place: TextPosition
    first_word: int
    file: int
    line: int


class LineTable:
    """Grows with the words of a text; from its first `.line` on, only such directives count."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self.of_words: array[int] = array("I")  # the line of each word, perhaps an expanded one
        self._directives_from: int | None = None  # the word that the first `.line` precedes
        self._files: dict[str, int] = {}
        self._file: int | None = None  # of the latest directive
        self._runs: list[tuple[int, int, int, int]] = []
        self._open: _OpenRun | None = None

    def begin(self, place: TextPosition, line: int | None, file: str | None) -> None:
        """The words that follow are from this line on or, with None, from no known line."""
        self.close()
        if self._directives_from is None:
            self._directives_from = len(self.of_words)
        if file is not None:
            self._file = self._files.setdefault(file, len(self._files))
        if line is None:
            return
        if self._file is None:
            self._source.fail(place, 'the first .line must name its file: .line NUMBER, "FILE"')
        self._open = _OpenRun(place, len(self.of_words), self._file, line)

    def close(self) -> None:
        """End the run that a directive began."""
        run, self._open = self._open, None
        if run is None:
            return
        words = len(self.of_words) - run.first_word
        if run.line + words > MAX_LINE + 1:
            self._source.note(run.place, f"the words that follow reach beyond line {MAX_LINE}")
        elif words:
            self._runs.append((run.first_word, words, run.file, run.line))

    def finish(self) -> SourceLines:
        """What the program keeps."""
        files, runs = list(self._files), np.array(self._runs, LINES.dtype)
        implicit = self._implicit_runs()
        if self._source.name is not None and len(implicit):
            runs["file"] += 1
            files = [self._source.name, *files]
            runs = np.concatenate((implicit, runs))
        return SourceLines(tuple(files), runs)

    def _implicit_runs(self) -> NDArray[np.void]:
        """Runs of the words before the first directive."""
        numbers = self.of_words[: self._directives_from]
        lines = np.array(self._source.outermost_lines(numbers), np.int64)
        starts = np.flatnonzero(np.diff(lines, prepend=-1) != 1)
        runs = np.zeros(len(starts), LINES.dtype)
        runs["first_word"], runs["line"] = starts, lines[starts]
        runs["words"] = np.diff(starts, append=len(lines))
        return runs
