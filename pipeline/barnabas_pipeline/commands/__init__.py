"""The sub-commands of `barnabas pipeline`, a module each."""
