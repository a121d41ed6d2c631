"""The report's figures as SVG, by hand: bars, bars over time, and strips of offsets."""

from collections.abc import Sequence
from typing import Final, NamedTuple
from xml.sax.saxutils import escape

_WIDTH: Final = 760
_LABEL: Final = 180
_VALUE: Final = 90
_ROW: Final = 22
_TOP: Final = 34
_SOUND: Final = "#2a6f97"
_DEFECT: Final = "#c1121f"
_FAINT: Final = "#e3e8ec"
# A defect of one offset in a billion must still be seen.
_MARK_MIN: Final = 2.0


class Bar(NamedTuple):
    label: str
    value: int
    is_defect: bool = False


class Strip(NamedTuple):
    """A partition's offsets, and where in them something is wrong."""

    label: str
    first: int
    last: int
    marks: Sequence[tuple[int, int]]


def bars(title: str, rows: Sequence[Bar]) -> str:
    most = max((row.value for row in rows), default=0) or 1
    parts = []
    for number, row in enumerate(rows):
        top = _TOP + number * _ROW
        length = row.value / most * (_WIDTH - _LABEL - _VALUE)
        parts += [
            _text(8, top + 14, row.label),
            _rect(_LABEL, top + 3, max(length, 1), 14, _DEFECT if row.is_defect else _SOUND),
            _text(_LABEL + max(length, 1) + 6, top + 14, f"{row.value:,}"),
        ]
    return _frame(title, _TOP + _ROW * len(rows) + 8, parts)


def columns(title: str, counts: Sequence[int], first: str, last: str) -> str:
    """Bars over time, from `first` to `last`."""
    most = max(counts, default=0) or 1
    step = (_WIDTH - 16) / max(len(counts), 1)
    parts = []
    for number, count in enumerate(counts):
        height = count / most * 120
        left = 8 + number * step
        parts.append(_rect(left, _TOP + 120 - height, max(step - 1, 1), height, _SOUND))
    base = _TOP + 140
    parts += [_text(8, base, first), _text(_WIDTH - 8, base, last, anchor="end")]
    parts.append(_text(_WIDTH - 8, 20, f"at most {most:,}", anchor="end"))
    return _frame(title, base + 12, parts)


def strips(title: str, rows: Sequence[Strip]) -> str:
    parts = []
    for number, row in enumerate(rows):
        top = _TOP + number * _ROW
        parts += [
            _text(8, top + 14, row.label),
            _rect(_LABEL, top + 3, _WIDTH - _LABEL - 8, 14, _FAINT),
            *(_mark(row, top, mark) for mark in row.marks),
        ]
    return _frame(title, _TOP + _ROW * len(rows) + 8, parts)


def _mark(row: Strip, top: float, mark: tuple[int, int]) -> str:
    scale = (_WIDTH - _LABEL - 8) / max(row.last - row.first + 1, 1)
    start, end = (min(max(it, row.first), row.last + 1) for it in mark)
    left = min(_LABEL + (start - row.first) * scale, _WIDTH - 8 - _MARK_MIN)
    return _rect(left, top + 3, max((end - start) * scale, _MARK_MIN), 14, _DEFECT)


def _frame(title: str, height: float, parts: Sequence[str]) -> str:
    frame = f'viewBox="0 0 {_WIDTH} {height:.0f}" role="img" aria-label="{escape(title)}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {frame} font-size="12">',
            _text(8, 20, title, weight="bold"),
            *parts,
            "</svg>",
        ]
    )


def _rect(left: float, top: float, width: float, height: float, colour: str) -> str:
    place = f'x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect {place} fill="{colour}"/>'


def _text(
    left: float, base: float, text: str, *, weight: str = "normal", anchor: str = "start"
) -> str:
    style = f'font-weight="{weight}" text-anchor="{anchor}" fill="#1b1b1b"'
    return f'<text x="{left:.1f}" y="{base:.1f}" {style}>{escape(text)}</text>'
