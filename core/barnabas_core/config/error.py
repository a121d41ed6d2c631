"""What can be wrong with a configuration: one tree, Kafka's words (INVALID_CONFIG to a client)."""


class ConfigError(Exception):
    """A configuration that must be refused whole."""


class UnknownProperty(ConfigError):
    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f"Unknown {kind} config name: {name}")
        self.name = name


class InvalidValue(ConfigError):
    def __init__(self, name: str, value: object, reason: str) -> None:
        super().__init__(f"Invalid value {value} for configuration {name}: {reason}")
        self.name = name


class MissingProperty(ConfigError):
    def __init__(self, name: str) -> None:
        super().__init__(f'Missing required configuration "{name}" which has no default value.')
        self.name = name


class RefusedProperty(ConfigError):
    """One that may not be set at all, or not to this."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(reason)
        self.name = name


class ConflictingValues(ConfigError):
    """Each value is right by itself, but not together."""


class MalformedProperties(ConfigError):
    """A properties file that cannot be read; `line` counts from 1."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
