"""`python -m barnabas.storage`, the same as `kafka-storage`."""

import sys

from barnabas.storage.cli import main

sys.exit(main())
