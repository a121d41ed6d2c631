"""`python -m barnabas_pipeline run FILE`: the same as `barnabas pipeline run FILE`."""

import sys

from barnabas_pipeline.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
