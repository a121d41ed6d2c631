"""Bars as SVG, by hand: pairs of bars on scales of their own, one row per scenario."""

from collections.abc import Sequence
from typing import Final, NamedTuple
from xml.sax.saxutils import escape

_WIDTH: Final = 760
_LABEL: Final = 300
_BAR: Final = 12
_ROW: Final = 44
_TOP: Final = 48
_COLOURS: Final = {"Barnabas": "#2a6f97", "Kafka": "#b0b7bd"}


class Pair(NamedTuple):
    label: str
    barnabas: float
    kafka: float


def bars(title: str, unit: str, pairs: Sequence[Pair]) -> str:
    """An SVG document; the longest bar of all fills the width."""
    most = max((max(pair.barnabas, pair.kafka) for pair in pairs), default=0) or 1
    height = _TOP + _ROW * len(pairs) + 8
    frame = f'viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {frame} font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        _text(8, 20, f"{title} ({unit})", weight="bold"),
        *_legend(),
    ]
    for row, pair in enumerate(pairs):
        top = _TOP + row * _ROW
        parts.append(_text(8, top + 18, pair.label))
        for line, (side, value) in enumerate((("Barnabas", pair.barnabas), ("Kafka", pair.kafka))):
            parts += _bar(top + line * (_BAR + 2), value, most, _COLOURS[side])
    return "\n".join([*parts, "</svg>", ""])


def _bar(top: float, value: float, most: float, colour: str) -> list[str]:
    length = max(value / most * (_WIDTH - _LABEL - 80), 1)
    return [
        f'<rect x="{_LABEL}" y="{top}" width="{length:.1f}" height="{_BAR}" fill="{colour}"/>',
        _text(
            _LABEL + length + 6,
            top + _BAR - 2,
            f"{value:,.3g}" if value < 1000 else f"{value:,.0f}",
        ),
    ]


def _legend() -> list[str]:
    parts = []
    for number, (side, colour) in enumerate(_COLOURS.items()):
        left = _WIDTH - 190 + number * 95
        parts.append(f'<rect x="{left}" y="11" width="10" height="10" fill="{colour}"/>')
        parts.append(_text(left + 15, 20, side))
    return parts


def _text(left: float, base: float, text: str, weight: str = "normal") -> str:
    style = f'font-weight="{weight}" fill="#1b1b1b"'
    return f'<text x="{left:.1f}" y="{base:.1f}" {style}>{escape(text)}</text>'
