"""Jobs that come with the package: whole pipelines and checks with nothing left to declare."""
