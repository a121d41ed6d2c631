"""YAML to plain values by a shape, with a line for every field and a problem for every fault.

Reading goes on after a fault, so that one look at the list of problems mends them all.
"""

from dataclasses import dataclass, field

import yaml

from barnabas_pipeline.spec.problem import InvalidPipeline, Problem, nearest
from barnabas_pipeline.spec.shape import Choice, Either, Field, ListOf, MapOf, Record, Scalar, Shape

Value = object


@dataclass(slots=True)
class Reading:
    """The line of every field that was met, and what is wrong."""

    lines: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def line_of(self, path: str) -> int:
        """Of the field, or of the nearest one around it."""
        while path and path not in self.lines:
            path = path.rpartition(".")[0] if "." in path else ""
        return self.lines.get(path, 1)

    def complain(self, path: str, message: str) -> None:
        self.problems.append(Problem(path, self.line_of(path), message))


def compose(text: str, file: str) -> yaml.Node:
    """The document's root node; `InvalidPipeline` where it is no YAML, or none is there."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise InvalidPipeline(file, [Problem("", line, f"no YAML: {error.problem}")]) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        reason = f"no YAML: the character {chr(error.character)!r} may not be in it: remove it"
        raise InvalidPipeline(file, [Problem("", line, reason)]) from error
    if node is None:
        raise InvalidPipeline(file, [Problem("", 1, "empty: a pipeline has at least a source")])
    return node


def read(shape: Shape, node: yaml.Node, path: str, reading: Reading) -> Value:
    """The value of `node`; None, and a problem, where it does not fit."""
    reading.lines.setdefault(path, node.start_mark.line + 1)
    match shape:
        case Scalar():
            return _read_scalar(shape, node, path, reading)
        case Choice():
            return _read_choice(shape, node, path, reading)
        case ListOf():
            return _read_list(shape, node, path, reading)
        case MapOf():
            return _read_map(shape, node, path, reading)
        case Either():
            is_word = isinstance(node, yaml.ScalarNode)
            return read(shape.word if is_word else shape.record, node, path, reading)
        case Record():
            return _read_record(shape, node, path, reading)


def _read_scalar(shape: Scalar, node: yaml.Node, path: str, reading: Reading) -> Value:
    if not isinstance(node, yaml.ScalarNode) or node.tag == "tag:yaml.org,2002:null":
        reading.complain(path, f"wants a {shape.name}, and has {_kind(node)}")
        return None
    try:
        return shape.parse(str(node.value))
    except ValueError as error:
        reading.complain(path, f"`{node.value}` is not {error}")
        return None


def _read_choice(shape: Choice, node: yaml.Node, path: str, reading: Reading) -> Value:
    value = node.value if isinstance(node, yaml.ScalarNode) else None
    if value in shape.values:
        return value
    said = f"`{value}` is not known" if isinstance(value, str) else f"has {_kind(node)}"
    reading.complain(path, f"{said}; {nearest(str(value), shape.values)}")
    return None


def _read_list(shape: ListOf, node: yaml.Node, path: str, reading: Reading) -> Value:
    if not isinstance(node, yaml.SequenceNode):
        reading.complain(path, f"wants a list, `- ...` on lines of its own, and has {_kind(node)}")
        return None
    if len(node.value) < shape.at_least:
        reading.complain(path, f"wants at least {shape.at_least} of them")
    return tuple(
        read(shape.item, item, f"{path}[{index}]", reading) for index, item in enumerate(node.value)
    )


def _read_map(shape: MapOf, node: yaml.Node, path: str, reading: Reading) -> Value:
    pairs = _pairs(node, path, reading)
    return {name: read(shape.value, value, f"{path}.{name}", reading) for name, _, value in pairs}


def _read_record(shape: Record, node: yaml.Node, path: str, reading: Reading) -> Value:
    pairs = _pairs(node, path, reading)
    found: dict[str, Value] = {each.name: each.default for each in shape.fields}
    given = set()
    for name, key, value in pairs:
        inner = f"{path}.{name}" if path else name
        reading.lines[inner] = key.start_mark.line + 1
        known = shape.named(name)
        if known is None:
            names = [each.name for each in shape.fields]
            reading.complain(inner, f"no such field; {nearest(name, names)}")
            continue
        given.add(name)
        found[name] = read(known.shape, value, inner, reading)
    if isinstance(node, yaml.MappingNode):
        _check_presence(shape, given, path, reading)
    return found


def _check_presence(shape: Record, given: set[str], path: str, reading: Reading) -> None:
    for each in shape.fields:
        if each.required and each.name not in given:
            reading.complain(path, f"`{each.name}` is missing: {_wanted(each)}")
    chosen = [name for name in shape.exactly_one if name in given]
    names = ", ".join(f"`{name}`" for name in shape.exactly_one)
    if shape.exactly_one and not chosen:
        reading.complain(path, f"one of {names} is missing")
    elif len(chosen) > 1:
        reading.complain(path, f"only one of {names} may be there: remove all but one")


def _wanted(missing: Field) -> str:
    if isinstance(missing.shape, Choice):
        return f"{missing.doc} ({', '.join(missing.shape.values)})"
    return missing.doc


def _pairs(node: yaml.Node, path: str, reading: Reading) -> list[tuple[str, yaml.Node, yaml.Node]]:
    if not isinstance(node, yaml.MappingNode):
        reading.complain(path, f"wants `field: value` lines, and has {_kind(node)}")
        return []
    pairs = []
    names = set()
    for key, value in node.value:
        name = str(key.value)
        if name in names:
            again = f"{path}.{name}" if path else name
            reading.lines[again] = key.start_mark.line + 1
            reading.complain(again, "is there twice: remove one")
            continue
        names.add(name)
        pairs.append((name, key, value))
    return pairs


def _kind(node: yaml.Node) -> str:
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    return f"`{node.value}`" if node.value else "nothing"
