"""`python -m barnabas_controller --config server.properties`: one controller, until told to stop.

The directory must have been formatted (`kafka-storage format`). Complaints are one line on standard
error; the exit status is 1 for what cannot be done, 2 for a command that makes no sense.
"""

import sys

from barnabas_controller.process import run
from barnabas_core.runtime.role_command import role_parser


def main() -> int:
    options = role_parser("barnabas_controller", "Run a controller of a cluster.").parse_args()
    return run(options.config, log_format=options.log_format, log_level=options.log_level)


if __name__ == "__main__":
    sys.exit(main())
