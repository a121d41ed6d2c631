"""The `barnabas` command."""


def main() -> int:
    return 0
