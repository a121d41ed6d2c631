"""From a message's rows to the source of its encoder at one version.

The source is one function, straight through all structs. It collects pieces of bytes in `out` and
joins them once; fields of fixed size that follow each other, lengths of non-compact strings
included, are one `struct` call. A `records` value ends a part: what was collected is joined
before it, and it is handed out as it is.
"""

from barnabas_core.wire import writer
from barnabas_core.wire.schema import ZERO_UUID, Field, Message, Struct, has_records
from barnabas_core.wire.size import FORMATS, LENGTH_FORMATS
from barnabas_core.wire.source import Source

# Literals of the source: what stands before a nullable struct, and the count of no tagged fields.
_PRESENT = repr(b"\x01")
_NULL = repr(b"\xff")
_NULL_TAGGED = _NULL_COMPACT = _NO_TAGS = repr(b"\x00")
_NULL_ARRAY = repr(b"\xff\xff\xff\xff")


def encode_source(message: type[Message], version: int) -> Source:
    """The source of `encode(m)`, which returns the list of parts."""
    return _EncodeSource(message, version).write()


class _EncodeSource:
    def __init__(self, message: type[Message], version: int) -> None:
        self._message = message
        self._version = version
        self._is_flexible = version >= message.FLEXIBLE_FROM
        self._source = Source()
        self._out = "out"
        # What waits to be added at once: expressions of bytes, then (value, format) of a run.
        self._pieces: list[str] = []
        self._run: list[tuple[str, str]] = []

    def write(self) -> Source:
        source = self._source
        source.bind("BROKEN", writer.BROKEN)
        source.bind("explain", writer.explain)
        source.bind("join", b"".join)
        parts = has_records(self._message)
        with source.block("def encode(m):"):
            source.line("out = []")
            if parts:
                source.line("parts = []")
            with source.block("try:"):
                self._struct(self._message, "m", "")
                self._flush()
                if parts:
                    source.line("parts.append(join(out))")
                    source.line("return parts")
                else:
                    source.line("return [join(out)]")
            with source.block("except BROKEN as error:"):
                source.line(f"raise explain(error, {self._message.__name__!r}) from error")
        return source

    def _struct(self, struct: type[Struct], value: str, path: str) -> None:
        tagged = []
        for field in struct.FIELDS:
            name = f"{value}.{field.name}"
            if not field.is_in(self._version):
                if not field.ignorable:
                    self._refuse_unless_default(field, name, path)
            elif field.tag is not None:
                tagged.append(field)
            else:
                self._value(field, name, path + field.name)
        if self._is_flexible:
            self._tags(tagged, value, path)
        else:
            self._refuse_if(f"{value}.unknown_tags", path + "unknown_tags")

    def _refuse_unless_default(self, field: Field, name: str, path: str) -> None:
        self._refuse_if(_differs(field, name, self._source), path + field.name)

    def _refuse_if(self, condition: str, path: str) -> None:
        self._source.bind("refuse_field", writer.refuse_field)
        with self._source.block(f"if {condition}:"):
            self._source.line(f"raise refuse_field({path!r}, {self._version})")

    def _value(self, field: Field, name: str, path: str) -> None:
        is_compact = self._is_flexible and field.compact
        if field.is_array and field.element in FORMATS and field.element != "uuid":
            self._numbers(field, name, is_compact=is_compact)
        elif field.is_array:
            self._array(field, name, path, is_compact=is_compact)
        elif field.struct is not None:
            self._nested(field, name, path)
        elif field.type == "uuid":
            self._uuid(name, path)
        elif field.type in FORMATS:
            self._run.append((name, FORMATS[field.type]))
        elif field.type == "records":
            self._records(field, name, is_compact=is_compact)
        else:
            is_nullable = field.is_nullable(self._version)
            self._bytes(field.type, name, is_nullable=is_nullable, is_compact=is_compact)

    def _uuid(self, name: str, path: str) -> None:
        # `struct` would cut or pad a value of another length without a word.
        self._source.bind("refuse_uuid", writer.refuse_uuid)
        with self._source.block(f"if len({name}) != 16:"):
            self._source.line(f"raise refuse_uuid({path!r})")
        self._run.append((name, "16s"))

    def _bytes(self, kind: str, name: str, *, is_nullable: bool, is_compact: bool) -> None:
        source = self._source
        data = source.fresh("b")
        encoded = f"{name}.encode()" if kind == "string" else name
        if is_nullable:
            size = source.fresh("n")
            with source.block(f"if {name} is None:"):
                source.line(f"{data} = b''")
                source.line(f"{size} = {0 if is_compact else -1}")
            with source.block("else:"):
                source.line(f"{data} = {encoded}")
                source.line(f"{size} = len({data}){' + 1' if is_compact else ''}")
        else:
            source.line(f"{data} = {encoded}")
            size = f"len({data}) + 1" if is_compact else f"len({data})"
        self._length(size, kind, is_compact=is_compact)
        self._piece(data)

    def _length(self, size: str, kind: str, *, is_compact: bool) -> None:
        if is_compact:
            table = "string_lengths" if kind == "string" else "lengths"
            self._piece(f"{self._source.bind(table, getattr(writer, table))}[{size}]")
        else:
            self._run.append((size, LENGTH_FORMATS[kind]))

    def _records(self, field: Field, name: str, *, is_compact: bool) -> None:
        assert self._out == "out", "records inside a tagged field"
        source = self._source
        size = f"len({name}) + 1" if is_compact else f"len({name})"
        if field.is_nullable(self._version):
            size = f"({0 if is_compact else -1} if {name} is None else {size})"
        self._length(size, "records", is_compact=is_compact)
        self._flush()
        with source.block(f"if {name} is not None:"):
            source.line(f"parts += (join(out), {name})")
            source.line("out = []")

    def _numbers(self, field: Field, name: str, *, is_compact: bool) -> None:
        """An array of numbers and its length, at once."""
        source = self._source
        pack = f"pack_{field.element}s"
        if pack not in source.names:
            code = FORMATS[field.element]
            source.bind(pack, writer.Packers(code, is_compact=is_compact))
        data, count = source.fresh("b"), source.fresh("n")
        length = f"{count} + 1" if is_compact else count
        source.line(f"{data} = {name}")
        with source.block(f"if {data} is not None:" if field.is_nullable(self._version) else None):
            source.line(f"{count} = len({data})")
            source.line(f"{data} = {pack}[{count}]({length}, *{data})")
        if field.is_nullable(self._version):
            with source.block("else:"):
                source.line(f"{data} = {_NULL_COMPACT if is_compact else _NULL_ARRAY}")
        self._piece(data)

    def _array(self, field: Field, name: str, path: str, *, is_compact: bool) -> None:
        source = self._source
        items = source.fresh("items")
        source.line(f"{items} = {name}")
        size = f"len({items}) + 1" if is_compact else f"len({items})"
        if field.is_nullable(self._version):
            count = source.fresh("n")
            source.line(f"{count} = {0 if is_compact else -1} if {items} is None else {size}")
            size = count
        self._length(size, "array", is_compact=is_compact)
        self._elements(field, items, path)

    def _elements(self, field: Field, items: str, path: str) -> None:
        source = self._source
        if field.is_nullable(self._version):
            items = f"{items} or ()"
        self._flush()
        item = source.fresh("item")
        with source.block(f"for {item} in {items}:"):
            if field.struct is not None:
                self._struct(field.struct, item, path + ".")
            elif field.element == "uuid":
                self._uuid(item, path)
            else:
                self._bytes(field.element, item, is_nullable=False, is_compact=self._is_flexible)
            self._flush()

    def _nested(self, field: Field, name: str, path: str, *, is_tagged: bool = False) -> None:
        assert field.struct is not None
        source = self._source
        inner = source.fresh("item")
        source.line(f"{inner} = {name}")
        if not field.is_nullable(self._version):
            self._struct(field.struct, inner, path + ".")
            return
        self._flush()
        with source.block(f"if {inner} is None:"):
            source.line(f"{self._out}.append({_NULL_TAGGED if is_tagged else _NULL})")
        with source.block("else:"):
            self._piece(_PRESENT)
            self._struct(field.struct, inner, path + ".")
            self._flush()

    def _tags(self, tagged: list[Field], value: str, path: str) -> None:
        self._source.bind("tag_section", writer.tag_section)
        unknown = f"{value}.unknown_tags"
        if not tagged:
            self._piece(f"tag_section((), {unknown}) if {unknown} else {_NO_TAGS}")
            return
        self._flush()
        source = self._source
        known = source.fresh("tagged")
        differs = {field: _differs(field, f"{value}.{field.name}", source) for field in tagged}
        with source.block(f"if {' or '.join([*differs.values(), unknown])}:"):
            source.line(f"{known} = []")
            for field, condition in differs.items():
                with source.block(f"if {condition}:"):
                    self._tagged_value(field, f"{value}.{field.name}", path + field.name, known)
            source.line(f"{self._out}.append(tag_section({known}, {unknown}))")
        with source.block("else:"):
            source.line(f"{self._out}.append({_NO_TAGS})")

    def _tagged_value(self, field: Field, name: str, path: str, known: str) -> None:
        outer, self._out = self._out, self._source.fresh("out")
        self._source.line(f"{self._out} = []")
        if field.struct is not None and not field.is_array:
            self._nested(field, name, path, is_tagged=True)
        else:
            self._value(field, name, path)
        self._flush()
        self._source.line(f"{known}.append(({field.tag}, join({self._out})))")
        self._out = outer

    def _piece(self, expression: str) -> None:
        self._close_run()
        self._pieces.append(expression)

    def _close_run(self) -> None:
        if self._run:
            code = "".join(code for _, code in self._run)
            values = ", ".join(value for value, _ in self._run)
            self._pieces.append(f"{self._source.packer('pack', code)}({values})")
            self._run.clear()

    def _flush(self) -> None:
        self._close_run()
        if len(self._pieces) == 1:
            self._source.line(f"{self._out}.append({self._pieces[0]})")
        elif self._pieces:
            self._source.line(f"{self._out} += ({', '.join(self._pieces)})")
        self._pieces.clear()


def _differs(field: Field, name: str, source: Source) -> str:
    """An expression that is true when the field does not have its default."""
    if field.default is None:
        return f"{name} is not None"
    if field.is_array:
        return f"({name} or {name} is None)" if field.nullable else name
    if field.struct is not None:
        parts = [_differs(part, f"{name}.{part.name}", source) for part in field.struct.FIELDS]
        anything = " or ".join([*parts, f"{name}.unknown_tags"])
        return f"({name} is None or {anything})" if field.nullable else f"({anything})"
    if field.default == ZERO_UUID:
        return f"{name} != {source.bind('ZERO_UUID', ZERO_UUID)}"
    return f"{name} != {field.default!r}"
