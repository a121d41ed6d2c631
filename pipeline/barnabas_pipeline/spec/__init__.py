"""A pipeline's document and the typed spec made of it, without Spark.

`shape` is what fields can be, `pipeline_shape` the fields of a pipeline (the one place that lists
them: the reader, the documentation and the resource's schema are made of it), `reader` takes a YAML
document apart and says what is wrong where, `model` is the spec, `build` makes it.
"""
