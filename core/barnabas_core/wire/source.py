"""Python source that is being written: lines, fresh names, and the objects that it refers to."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from struct import Struct as Packer


class Source:
    def __init__(self) -> None:
        self._lines: list[str] = []
        self._indent = ""
        self._last_number = 0
        self.names: dict[str, object] = {}

    def line(self, text: str) -> None:
        self._lines.append(self._indent + text)

    @contextmanager
    def block(self, header: str | None) -> Iterator[None]:
        """The lines written inside are indented below the header; without one, they are not."""
        if header is None:
            yield
            return
        self.line(header)
        outer, self._indent = self._indent, self._indent + "    "
        yield
        self._indent = outer

    def fresh(self, prefix: str) -> str:
        """A local name that nothing else in this function uses."""
        self._last_number += 1
        return f"{prefix}{self._last_number}"

    def bind(self, name: str, value: object) -> str:
        """Let the source refer to `value` by a global name."""
        assert self.names.setdefault(name, value) is value, name
        return name

    def packer(self, verb: str, code: str) -> str:
        """The name of a method of the `struct` that reads or writes a run of fixed-size fields."""
        name = f"{verb}_{code.replace('?', 't')}"
        if name not in self.names:
            packer = Packer(">" + code)
            self.names[name] = packer.pack if verb == "pack" else packer.unpack_from
        return name

    @property
    def text(self) -> str:
        return "\n".join(self._lines) + "\n"


def compile_function(source: Source, name: str, origin: str) -> Callable[..., object]:
    """Run the source and take out the function that it defines."""
    namespace = dict(source.names)
    exec(compile(source.text, f"<{origin}>", "exec"), namespace)  # noqa: S102
    function = namespace[name]
    assert callable(function)
    return function
