"""`python -m barnabas_coordinator --role group --config server.properties`: one coordinator.

The file is that of a broker, with a `node.id` and an `internal.listener` of its own; nothing is
kept on disk. It registers with the controllers, and brokers with `coordinator.mode=remote` lease
their shards to it. An image is made for one role, and says so in the environment
(`BARNABAS_COORDINATOR_ROLE`). Complaints are one line on standard error; the exit status is 1 for
what cannot be done, 2 for a command that makes no sense.
"""

import os
import sys

from barnabas_coordinator.process import run
from barnabas_core.runtime.role_command import role_parser


def main() -> int:
    parser = role_parser("barnabas_coordinator", "Run a coordinator of a cluster.")
    given = os.environ.get("BARNABAS_COORDINATOR_ROLE")
    parser.add_argument(
        "--role",
        required=given is None,
        default=given,
        choices=("group",),
        help="what it coordinates",
    )
    options = parser.parse_args()
    return run(options.config, log_format=options.log_format, log_level=options.log_level)


if __name__ == "__main__":
    sys.exit(main())
