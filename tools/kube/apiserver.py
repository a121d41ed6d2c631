"""etcd and kube-apiserver alone, on loopback: a real API without nodes, ready in seconds.

    with ApiServer(directory) as server:
        server.kubectl("get", "namespaces")

Validation, defaulting, CEL rules, server-side apply, watches and leases are those of a cluster.
Nothing runs behind it: with `controllers`, kube-controller-manager does that much (StatefulSets
then make pods, and owners take their children with them); pods stay Pending until a test says
otherwise.
"""

import os
import ssl
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from barnabas_pipeline.fetch.cache import run
from tools.kube.go_build import program
from tools.kube.local_process import LocalProcess, answers, free_ports

START_TIMEOUT_S: Final = 120.0
# What an operator's children live by. `node` controllers are left out: there are none.
CONTROLLERS: Final = (
    "garbage-collector-controller",
    "namespace-controller",
    "serviceaccount-controller",
    "statefulset-controller",
    "deployment-controller",
    "replicaset-controller",
    "disruption-controller",
    "job-controller",
)
# Known to everybody who can read this file, for a server on loopback that lives for a test.
TOKEN: Final = "barnabas-tests"  # noqa: S105

_KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{{name: local, cluster: {{server: "{url}", certificate-authority: "{authority}"}}}}]
users: [{{name: admin, user: {{token: "{token}"}}}}]
contexts: [{{name: local, context: {{cluster: local, user: admin, namespace: default}}}}]
current-context: local
"""


class ApiServer:
    """Everything it writes is below `directory`; programs are built where they are missing."""

    def __init__(self, directory: Path, controllers: Sequence[str] = ()) -> None:
        self.directory = directory
        self.kubeconfig = directory / "kubeconfig"
        self.url = ""
        self._controllers = tuple(controllers)
        self._processes: list[LocalProcess] = []

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        etcd_port, peer_port, port = free_ports(3)
        self._start_etcd(etcd_port, peer_port)
        self._start_apiserver(etcd_port, port)
        if self._controllers:
            self._start_controllers()

    def stop(self) -> None:
        """The newest first: an API server without etcd would fill its log."""
        while self._processes:
            self._processes.pop().stop()

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Standard output; `CalledProcessError` with standard error when it fails."""
        done = subprocess.run(
            [str(program("kubectl")), *arguments],
            env=os.environ | {"KUBECONFIG": str(self.kubeconfig)},
            input=stdin or "",
            capture_output=True,
            text=True,
            check=True,
            timeout=START_TIMEOUT_S,
        )
        return done.stdout

    # --- the parts

    def _run(self, command: Sequence[str]) -> LocalProcess:
        name = Path(command[0]).name
        process = LocalProcess(command, self.directory / f"{name}.log")
        self._processes.append(process)
        return process

    def _start_etcd(self, port: int, peer_port: int) -> None:
        client, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer_port}"
        etcd = self._run(
            [
                str(program("etcd")),
                f"--data-dir={self.directory / 'etcd'}",
                "--unsafe-no-fsync",  # its life is a test's
                "--log-level=warn",
                f"--listen-client-urls={client}",
                f"--advertise-client-urls={client}",
                f"--listen-peer-urls={peer}",
                f"--initial-advertise-peer-urls={peer}",
                f"--initial-cluster=default={peer}",
            ]
        )
        etcd.wait_until(lambda: answers(f"{client}/health"), START_TIMEOUT_S)

    def _start_apiserver(self, etcd_port: int, port: int) -> None:
        tokens = self.directory / "tokens.csv"
        tokens.write_text(f'{TOKEN},admin,admin,"system:masters"\n')
        signing_key = self.directory / "service-accounts.key"
        run(["openssl", "genrsa", "-out", str(signing_key), "2048"], "a key for service accounts")
        self.url = f"https://127.0.0.1:{port}"
        server = self._run(
            [
                str(program("kube-apiserver")),
                f"--etcd-servers=http://127.0.0.1:{etcd_port}",
                "--bind-address=127.0.0.1",
                "--advertise-address=127.0.0.1",
                f"--secure-port={port}",
                f"--cert-dir={self.directory / 'certificates'}",
                f"--token-auth-file={tokens}",
                "--authorization-mode=RBAC",
                "--service-cluster-ip-range=10.0.0.0/24",
                "--service-account-issuer=https://kubernetes.default.svc",
                f"--service-account-key-file={signing_key}",
                f"--service-account-signing-key-file={signing_key}",
                # Pods need a service account's token where the controller is not there to make it.
                "--disable-admission-plugins=ServiceAccount",
                "--allow-privileged=true",
            ]
        )
        authority = self.directory / "certificates" / "apiserver.crt"
        self.kubeconfig.write_text(
            _KUBECONFIG.format(url=self.url, authority=authority, token=TOKEN)
        )
        server.wait_until(lambda: self._is_ready(authority), START_TIMEOUT_S)

    def _is_ready(self, authority: Path) -> bool:
        if not authority.exists():
            return False
        context = ssl.create_default_context(cafile=str(authority))
        return answers(f"{self.url}/readyz", context, TOKEN)

    def _start_controllers(self) -> None:
        (port,) = free_ports(1)
        manager = self._run(
            [
                str(program("kube-controller-manager")),
                f"--kubeconfig={self.kubeconfig}",
                f"--authentication-kubeconfig={self.kubeconfig}",
                f"--authorization-kubeconfig={self.kubeconfig}",
                f"--controllers={','.join(self._controllers)}",
                "--bind-address=127.0.0.1",
                f"--secure-port={port}",
                f"--cert-dir={self.directory / 'controller-certificates'}",
                "--leader-elect=false",
            ]
        )
        manager.wait_until(lambda: self._controllers_answer(port), START_TIMEOUT_S)

    def _controllers_answer(self, port: int) -> bool:
        certificate = self.directory / "controller-certificates" / "kube-controller-manager.crt"
        if not certificate.exists():
            return False
        context = ssl.create_default_context(cafile=str(certificate))
        context.check_hostname = False
        return answers(f"https://127.0.0.1:{port}/healthz", context)
