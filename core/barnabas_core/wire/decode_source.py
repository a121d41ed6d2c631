"""From a message's rows to the source of its decoder at one version.

The source is one function, straight through all structs. Fields of fixed size that follow each
other are read by one `struct` call, together with the first byte of whatever length comes next;
an array is a loop; a struct is made with `new` and filled in place, which is cheaper than a call
of `__init__`. The function reads `buf` from `p` on and returns the message and the position after
it. `reader` says why no slice is checked.
"""

from struct import calcsize

from barnabas_core.wire import reader
from barnabas_core.wire.primitive import read_uvarint
from barnabas_core.wire.schema import ZERO_UUID, Field, Message, Struct, has_records
from barnabas_core.wire.size import FORMATS, LENGTH_FORMATS, SIZES, element_min_bytes
from barnabas_core.wire.source import Source


def decode_source(message: type[Message], version: int) -> Source:
    """The source of `decode(buf, p)`."""
    return _DecodeSource(message, version).write()


class _DecodeSource:
    def __init__(self, message: type[Message], version: int) -> None:
        self._message = message
        self._version = version
        self._is_flexible = version >= message.FLEXIBLE_FROM
        # A header is the small beginning of a frame that may be large.
        self._reads_in_place = has_records(message) or message.KIND == "header"
        self._source = Source()
        # Reads of fixed size that wait to be made at once: (where the value goes, its format).
        self._run: list[tuple[str, str]] = []

    def write(self) -> Source:
        source = self._source
        for name in ("BROKEN", "beyond_buffer", "explain"):
            source.bind(name, getattr(reader, name))
        source.bind("new", object.__new__)
        with source.block("def decode(buf, p):"):
            self._open_buffer()
            with source.block("try:"):
                self._struct(self._message, "m", "")
                self._flush()
            with source.block("except BROKEN as error:"):
                source.line("raise explain(error, p, buf) from error")
            with source.block("if p > len(buf):"):
                source.line("raise beyond_buffer(p, buf)")
            source.line("return m, p")
        return source

    def _open_buffer(self) -> None:
        # Strings are cut fastest out of `bytes`: one copy is cheaper than a view for each.
        if has_records(self._message):
            self._source.line("view = memoryview(buf)")
        if not self._reads_in_place:
            with self._source.block("if type(buf) is not bytes:"):
                self._source.line("buf = bytes(buf)")

    def _struct(self, struct: type[Struct], target: str, path: str) -> None:
        self._source.line(f"{target} = new({self._class(struct)})")
        present = [field for field in struct.FIELDS if field.is_in(self._version)]
        tagged = [field for field in present if field.tag is not None]
        absent = [field for field in struct.FIELDS if field not in present]
        self._defaults(absent + tagged, target)
        for field in present:
            if field.tag is None:
                self._value(field, f"{target}.{field.name}", path + field.name)
        if self._is_flexible:
            self._tags(tagged, target, path)
        else:
            self._source.line(f"{target}.unknown_tags = ()")

    def _value(self, field: Field, target: str, path: str) -> None:
        if field.is_array:
            self._array(field, target, path)
        elif field.struct is not None:
            self._nested(field, target, path)
        elif field.type in FORMATS:
            self._run.append((target, FORMATS[field.type]))
        else:
            is_nullable = field.is_nullable(self._version)
            is_compact = self._is_flexible and field.compact
            self._bytes(field.type, target, path, is_nullable=is_nullable, is_compact=is_compact)

    def _bytes(
        self, kind: str, target: str, path: str, *, is_nullable: bool, is_compact: bool
    ) -> None:
        source = self._source
        self._length("B" if is_compact else LENGTH_FORMATS[kind])
        if is_compact:
            self._long_length(kind)
        with source.block("if n:" if is_compact else "if n >= 0:"):
            source.line("q = p")
            source.line("p += n - 1" if is_compact else "p += n")
            source.line(f"{target} = {self._cut(kind)}")
        self._otherwise_null(target, path, is_nullable=is_nullable, is_compact=is_compact)

    def _long_length(self, kind: str) -> None:
        """A compact length of more than one byte: rare for strings, usual for records."""
        source = self._source
        with source.block(f"if n > {reader.SMALL}:"):
            if kind != "records":
                self._call_long("long_string" if kind == "string" else "continue_uvarint", "")
                return
            source.line("q = buf[p]")
            with source.block(f"if q <= {reader.SMALL}:"):
                source.line("n += (q << 7) - 128")
                source.line("p += 1")
            with source.block("else:"):
                self._call_long("continue_uvarint", "")

    def _cut(self, kind: str) -> str:
        if kind == "records":
            return "view[q:p]"
        if self._reads_in_place:
            return 'str(buf[q:p], "utf-8")' if kind == "string" else "bytes(buf[q:p])"
        return "buf[q:p].decode()" if kind == "string" else "buf[q:p]"

    def _otherwise_null(
        self, target: str, path: str, *, is_nullable: bool, is_compact: bool
    ) -> None:
        """What follows `if n:` (compact, where 0 is null) or `if n >= 0:` (where -1 is)."""
        source = self._source
        if is_nullable:
            with source.block("else:" if is_compact else "elif n == -1:"):
                source.line(f"{target} = None")
        if not (is_nullable and is_compact):
            with source.block("else:"):
                refuse = "refuse_null" if is_compact else "refuse_length"
                source.bind(refuse, getattr(reader, refuse))
                source.line(f"{refuse}({'' if is_compact else 'n, '}{path!r})")

    def _array(self, field: Field, target: str, path: str) -> None:
        source = self._source
        is_compact = self._is_flexible and field.compact
        self._length("B" if is_compact else "i")
        min_bytes = element_min_bytes(field, self._version, is_flexible=self._is_flexible)
        with source.block(f"if n > {reader.SMALL}:"):
            if is_compact:
                self._call_long("long_array", f", {min_bytes}")
            else:
                source.bind("check_count", reader.check_count)
                source.line(f"check_count(n, {min_bytes}, len(buf) - p)")
        if field.element in FORMATS:
            with source.block("if n:" if is_compact else "if n >= 0:"):
                self._numbers(field, target, "n - 1" if is_compact else "n")
        else:
            with source.block("if n > 1:" if is_compact else "if n > 0:"):
                self._elements(field, target, path, "n - 1" if is_compact else "n")
            # An empty loop costs more than this question, and many arrays are empty.
            with source.block("elif n:" if is_compact else "elif n == 0:"):
                source.line(f"{target} = []")
        is_nullable = field.is_nullable(self._version)
        self._otherwise_null(target, path, is_nullable=is_nullable, is_compact=is_compact)

    def _numbers(self, field: Field, target: str, count: str) -> None:
        source = self._source
        if field.element == "uuid":
            source.line("q = p")
            source.line(f"p += 16 * ({count})")
            cut = "bytes(buf[i : i + 16])" if self._reads_in_place else "buf[i : i + 16]"
            source.line(f"{target} = [{cut} for i in range(q, p, 16)]")
        else:
            source.line(f"{target} = [*{self._unpackers(field)}[n](buf, p)]")
            source.line(f"p += {SIZES[field.element]} * ({count})")

    def _elements(self, field: Field, target: str, path: str, count: str) -> None:
        source = self._source
        items, item = source.fresh("items"), source.fresh("item")
        source.line(f"{target} = {items} = []")
        with source.block(f"for _ in range({count}):"):
            self._element(field, item, path)
            self._flush()
            source.line(f"{items}.append({item})")

    def _unpackers(self, field: Field) -> str:
        name = f"unpack_{field.element}s"
        if name not in self._source.names:
            null = 0 if self._is_flexible else -1
            self._source.bind(name, reader.Unpackers(FORMATS[field.element], null))
        return name

    def _element(self, field: Field, item: str, path: str) -> None:
        if field.struct is not None:
            self._struct(field.struct, item, path + ".")
        else:
            is_compact = self._is_flexible
            self._bytes(field.element, item, path, is_nullable=False, is_compact=is_compact)

    def _nested(self, field: Field, target: str, path: str, *, is_tagged: bool = False) -> None:
        assert field.struct is not None
        source = self._source
        inner = source.fresh("item")
        if not field.is_nullable(self._version):
            self._struct(field.struct, inner, path + ".")
            source.line(f"{target} = {inner}")
            return
        if is_tagged:
            source.line("n, p = read_uvarint(buf, p)")
            source.bind("read_uvarint", read_uvarint)
        else:
            self._length("b")
        with source.block("if n < 1:" if is_tagged else "if n < 0:"):
            source.line(f"{target} = None")
        with source.block("else:"):
            self._struct(field.struct, inner, path + ".")
            self._flush()
            source.line(f"{target} = {inner}")

    def _tags(self, tagged: list[Field], target: str, path: str) -> None:
        source = self._source
        self._length("B")
        with source.block("if n:"):
            if tagged:
                self._known_tags(tagged, target, path)
            else:
                source.bind("unknown_tags", reader.unknown_tags)
                source.line(f"{target}.unknown_tags, p = unknown_tags(buf, p, n)")
        with source.block("else:"):
            source.line(f"{target}.unknown_tags = ()")

    def _known_tags(self, tagged: list[Field], target: str, path: str) -> None:
        source = self._source
        for name in ("tag_count", "tag_head", "refuse_tag_size"):
            source.bind(name, getattr(reader, name))
        tag, end, unknown = source.fresh("tag"), source.fresh("end"), source.fresh("unknown")
        source.line("n, p = tag_count(buf, p, n)")
        source.line(f"{tag} = -1")
        source.line(f"{unknown} = []")
        with source.block("for _ in range(n):"):
            source.line(f"{tag}, p, {end} = tag_head(buf, p, {tag})")
            word = "if"
            for field in tagged:
                with source.block(f"{word} {tag} == {field.tag}:"):
                    self._tagged_value(field, f"{target}.{field.name}", path + field.name)
                word = "elif"
            with source.block("else:"):
                source.line(f"{unknown}.append(({tag}, bytes(buf[p:{end}])))")
                source.line(f"p = {end}")
            with source.block(f"if p != {end}:"):
                source.line(f"refuse_tag_size({tag}, p, {end})")
        source.line(f"{target}.unknown_tags = tuple({unknown})")

    def _tagged_value(self, field: Field, target: str, path: str) -> None:
        if field.struct is not None and not field.is_array:
            self._nested(field, target, path, is_tagged=True)
        else:
            self._value(field, target, path)
        self._flush()

    def _defaults(self, fields: list[Field], target: str) -> None:
        """What the bytes do not tell; constants that are the same are stored in one line."""
        constants: dict[str, str] = {}
        for field in fields:
            name = f"{target}.{field.name}"
            if field.default != ():
                literal = self._literal(field.default)
                constants[literal] = f"{constants.get(literal, '')}{name} = "
            elif field.is_array:
                self._source.line(f"{name} = []")
            else:
                self._default_struct(field, name)
        for literal, targets in constants.items():
            self._source.line(targets + literal)

    def _literal(self, value: object) -> str:
        return self._source.bind("ZERO_UUID", ZERO_UUID) if value == ZERO_UUID else repr(value)

    def _default_struct(self, field: Field, target: str) -> None:
        assert field.struct is not None
        inner = self._source.fresh("item")
        self._source.line(f"{target} = {inner} = new({self._class(field.struct)})")
        self._defaults(list(field.struct.FIELDS), inner)
        self._source.line(f"{inner}.unknown_tags = ()")

    def _class(self, struct: type[Struct]) -> str:
        return self._source.bind(struct.__name__, struct)

    def _length(self, code: str) -> None:
        """Read a length, or the first byte of a compact one, into `n` behind the run that waits."""
        self._run.append(("n", code))
        self._flush()

    def _call_long(self, function: str, more: str) -> None:
        self._source.bind(function, getattr(reader, function))
        self._source.line(f"n, p = {function}(buf, p, n{more})")

    def _flush(self) -> None:
        if not self._run:
            return
        source = self._source
        code = "".join(code for _, code in self._run)
        targets = ", ".join(target for target, _ in self._run)
        if code == "B":
            source.line(f"{targets} = buf[p]")
        else:
            comma = "," if len(self._run) == 1 else ""
            source.line(f"{targets}{comma} = {source.packer('unpack', code)}(buf, p)")
        source.line(f"p += {calcsize('>' + code)}")
        self._run.clear()
