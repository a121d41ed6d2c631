"""Files where Spark keeps them: a local directory, HDFS, an object store, by Hadoop's own client.

Renames of a local directory or HDFS are atomic. An object store copies; whoever commits here
writes down what is to be moved first, so that a move cut short is made again.
"""

from typing import Any

from pyspark.sql import SparkSession

from barnabas_pipeline.sinks.file_store import FileStatus


class Files:
    """Paths are absolute, or addresses such as `s3a://lake/orders`."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        jvm: Any = spark._jvm
        self._path = jvm.org.apache.hadoop.fs.Path
        configuration = spark._jsc.hadoopConfiguration()
        store = self._path(root).getFileSystem(configuration)
        if store.getUri().getScheme() == "file":
            # Hadoop keeps a checksum in a second file and renames it after the first: killed in
            # between, a file that was written anew could never be read again.
            store = store.getRawFileSystem()
        self._store = store

    def exists(self, path: str) -> bool:
        return bool(self._store.exists(self._path(path)))

    def read_text(self, path: str) -> str | None:
        """None where there is no such file."""
        if not self.exists(path):
            return None
        stream = self._store.open(self._path(path))
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()

    def write_text(self, path: str, text: str) -> None:
        """All of it or nothing: written under another name, then renamed."""
        draft = self._path(f"{path}.draft")
        stream = self._store.create(draft, True)
        try:
            stream.write(bytearray(text.encode()))
            stream.hsync()
        finally:
            stream.close()
        if not self._rename(draft, self._path(path)):
            raise OSError(f"{path} could not be written")

    def children(self, path: str) -> list[FileStatus]:
        """What is directly in a directory; nothing where there is none."""
        if not self.exists(path):
            return []
        return sorted(map(_status, self._store.listStatus(self._path(path))), key=lambda s: s.path)

    def glob(self, pattern: str) -> list[FileStatus]:
        found = self._store.globStatus(self._path(pattern))
        return sorted(map(_status, found or []), key=lambda status: status.path)

    def move(self, source: str, target: str) -> None:
        if not self.exists(source):
            return
        to = self._path(target)
        self._store.mkdirs(to.getParent())
        if not self._rename(self._path(source), to):
            raise OSError(f"{source} could not be moved to {target}")

    def delete(self, path: str) -> None:
        self._store.delete(self._path(path), True)

    def _rename(self, source: Any, target: Any) -> bool:
        """Over a file that is there: on an object store, the copy that a move cut short left."""
        if self._store.rename(source, target):
            return True
        self._store.delete(target, False)
        return bool(self._store.rename(source, target))


def _status(status: Any) -> FileStatus:
    return FileStatus(
        path=status.getPath().toString(),
        size_bytes=int(status.getLen()),
        modified_at_ms=int(status.getModificationTime()),
        is_directory=bool(status.isDirectory()),
    )
