"""The manifests: valid for Kubernetes, hardened, and consistent with ``evalward serve``."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path, PurePosixPath
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import trustme
from deployment_files import DEPLOY, documents, image_variables, paths_of, settings_of

from evalward.audit import load_key
from evalward.errors import CodedError
from evalward.policy import parse_policy
from evalward.policy.documents import read_yaml
from evalward.server.addresses import (
    DEFAULT_ADMIN_PORT,
    DEFAULT_LISTEN,
    TcpAddress,
    parse_admin_listen,
    parse_listen,
)
from evalward.server.settings import Settings, TlsFiles
from evalward.server.transport.tls import Certificates

USER = 65532
FILES = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
OBJECTS = [(file.stem, each) for file in FILES for each in documents(file)]
PODS = [
    pytest.param(each["spec"]["template"]["spec"], id=f"{file}-{each['metadata']['name']}")
    for file, each in OBJECTS
    if each["kind"] == "Deployment"
]
# The first release with native sidecars, and the newest that the validator supports.
RELEASES = ("1.29", ".".join(kubernetes_validate.latest_version().split(".")[:2]))


def containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    return [*pod.get("initContainers", []), *pod["containers"]]


def guard(pod: dict[str, Any]) -> dict[str, Any]:
    (found,) = (each for each in containers(pod) if each["name"] == "evalward")
    assert isinstance(found, dict)
    return found


def settings(pod: dict[str, Any]) -> dict[str, Any]:
    own = {each["name"]: each["value"] for each in guard(pod).get("env", [])}
    return settings_of(guard(pod)["args"], {**image_variables(), **own})


def of_kind(file: str, kind: str) -> dict[str, Any]:
    (found,) = (each for name, each in OBJECTS if name == file and each["kind"] == kind)
    return found


def test_there_are_manifests_for_the_sidecar_and_for_the_service() -> None:
    assert [file.stem for file in FILES] == ["service", "sidecar"]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(
    "document", [pytest.param(each, id=f"{file}-{each['kind']}") for file, each in OBJECTS]
)
def test_the_schema_takes_it(document: dict[str, Any], release: str) -> None:
    kubernetes_validate.validate(document, release, strict=True)


@pytest.mark.parametrize("pod", PODS)
def test_everything_in_the_pod_is_hardened(pod: dict[str, Any]) -> None:
    assert pod["automountServiceAccountToken"] is False
    assert pod["enableServiceLinks"] is False
    assert pod["securityContext"]["fsGroup"] == USER
    for each in containers(pod):
        context = each["securityContext"]
        assert (context["runAsUser"], context["runAsGroup"], context["runAsNonRoot"]) == (USER, USER, True)
        assert context["readOnlyRootFilesystem"] is True
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}
        assert {"requests", "limits"} <= each["resources"].keys()


@pytest.mark.parametrize("pod", PODS)
def test_every_path_of_the_guard_is_mounted_from_where_it_is(pod: dict[str, Any]) -> None:
    mounts = {PurePosixPath(each["mountPath"]): each["name"] for each in guard(pod)["volumeMounts"]}
    volumes = {each["name"]: each for each in pod["volumes"]}
    in_force = settings(pod)

    for path in paths_of(in_force):
        assert path.parent in mounts, path
    for each in containers(pod):
        assert {mount["name"] for mount in each["volumeMounts"]} <= volumes.keys()
    written = [each["name"] for each in guard(pod)["volumeMounts"] if not each.get("readOnly")]
    assert all("emptyDir" in volumes[name] for name in written)
    # A mounted file would not change: only a mounted folder follows its ConfigMap.
    assert not any("subPath" in each for each in guard(pod)["volumeMounts"])


@pytest.mark.parametrize("file", ["sidecar", "service"])
def test_the_policy_is_one(file: str) -> None:
    pod = of_kind(file, "Deployment")["spec"]["template"]["spec"]
    config = of_kind(file, "ConfigMap")
    path = PurePosixPath(settings(pod)["policy"])
    (volume,) = (each for each in pod["volumes"] if "configMap" in each)

    assert volume["configMap"]["name"] == config["metadata"]["name"]
    assert parse_policy(read_yaml(config["data"][path.name]), source=file).allowed_targets


def copier(pod: dict[str, Any], folder: Path) -> list[str]:
    """Return the command of the container that copies the keys, in ``folder`` instead of the pod."""
    first = pod["initContainers"][0]
    *python, script = first["command"]
    assert python == ["/opt/evalward/bin/python", "-c"]
    for place in {PurePosixPath(each["mountPath"]) for each in first["volumeMounts"]}:
        (folder / place.relative_to("/")).mkdir(parents=True)
        top = f"/{place.parts[1]}"
        script = script.replace(f'"{top}"', f'"{folder}{top}"').replace(f'"{top}/', f'"{folder}{top}/')
    return [sys.executable, "-c", script.replace("sleep(5)", "sleep(0.01)")]


def secrets_of(settings: dict[str, Any]) -> list[PurePosixPath]:
    """Return the files of the settings that hold a secret."""
    return [PurePosixPath(settings[name]) for name in ("audit_key", "tls_key") if settings[name]]


@pytest.mark.parametrize("pod", PODS)
def test_every_key_is_a_private_copy_that_only_its_copier_finds_elsewhere(pod: dict[str, Any]) -> None:
    first = pod["initContainers"][0]
    volumes = {each["name"]: each for each in pod["volumes"]}
    copied = {mount["name"]: mount["mountPath"] for mount in first["volumeMounts"]}
    (target,) = (place for name, place in copied.items() if "emptyDir" in volumes[name])

    assert {str(key.parent) for key in secrets_of(settings(pod))} == {target}
    for each in containers(pod)[1:]:
        assert not any("secret" in volumes[mount["name"]] for mount in each["volumeMounts"])


def test_the_sidecar_copies_its_key(tmp_path: Path) -> None:
    pod = of_kind("sidecar", "Deployment")["spec"]["template"]["spec"]
    command = copier(pod, tmp_path)
    (tmp_path / "secret" / "audit.key").write_bytes(bytes(32))
    for _ in range(2):  # a container may start again
        subprocess.run(command, check=True)
    assert load_key(tmp_path / PurePosixPath(settings(pod)["audit_key"]).relative_to("/"))


@pytest.mark.exhaustive
def test_the_service_copies_its_keys_and_follows_what_is_renewed(tmp_path: Path) -> None:
    """The service accepts the copied files, and would reject those of the Secret."""
    pod = of_kind("service", "Deployment")["spec"]["template"]["spec"]
    in_force = settings(pod)
    command = copier(pod, tmp_path)
    (tmp_path / "secrets/audit/audit.key").write_bytes(bytes(32))
    issue(tmp_path / "secrets/tls")
    mine = TlsFiles(*(tmp_path / PurePosixPath(in_force[name]).relative_to("/") for name in TLS_SETTINGS))
    with pytest.raises(CodedError, match="0440 and must be 0600"):
        Certificates(TlsFiles(*(tmp_path / "secrets/tls" / path.name for path in mine.paths())))

    with subprocess.Popen(command) as process:
        try:
            wait_for(mine.client_ca or mine.key)
            first = Certificates(mine)
            assert load_key(tmp_path / PurePosixPath(in_force["audit_key"]).relative_to("/"))
            issue(tmp_path / "secrets/tls")
            for path in mine.paths():
                wait_for(path, (tmp_path / "secrets/tls" / path.name).read_bytes())
            assert Certificates(mine).validity.digest != first.validity.digest
        finally:
            process.terminate()
            assert process.wait(30) == 0


TLS_SETTINGS = ("tls_cert", "tls_key", "client_ca")


def issue(folder: Path) -> None:
    """Write the files of cert-manager as a kubelet does: with its modes, and all of them change at once."""
    ca = trustme.CA()
    issued = ca.issue_cert("evalward")
    made = folder / f"..{len(list(folder.iterdir()))}"
    made.mkdir()
    issued.cert_chain_pems[0].write_to_path(made / "tls.crt")
    issued.private_key_pem.write_to_path(made / "tls.key")
    ca.cert_pem.write_to_path(made / "ca.crt")
    for path in made.iterdir():
        path.chmod(0o440)
    (folder / "..next").symlink_to(made.name)
    (folder / "..next").replace(folder / "..data")
    for name in ("tls.crt", "tls.key", "ca.crt"):
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"..data/{name}")


def wait_for(path: Path, contents: bytes | None = None) -> None:
    """Return when the file exists with ``contents``; fail after half a minute."""
    until = time.monotonic() + 30
    while not path.exists() or contents not in {None, path.read_bytes()}:
        assert time.monotonic() < until, f"{path} is not copied"
        time.sleep(0.01)


@pytest.mark.parametrize("pod", PODS)
def test_the_probes_ask_the_admin_port_and_only_readiness_asks_for_the_audit_log(pod: dict[str, Any]) -> None:
    admin = parse_admin_listen(settings(pod)["admin_listen"])
    ports = {each["name"]: each["containerPort"] for each in guard(pod)["ports"]}
    asked = {
        name: guard(pod)[name]["httpGet"] for name in ("startupProbe", "readinessProbe", "livenessProbe")
    }

    assert ports["admin"] == admin.port == DEFAULT_ADMIN_PORT
    assert not admin.is_loopback
    assert {each["port"] for each in asked.values()} == {"admin"}
    assert {name: each["path"] for name, each in asked.items()} == {
        "startupProbe": "/readyz",
        "readinessProbe": "/readyz",
        "livenessProbe": "/livez",
    }


@pytest.mark.parametrize("pod", PODS)
def test_the_pod_waits_for_the_drain(pod: dict[str, Any]) -> None:
    assert pod["terminationGracePeriodSeconds"] > settings(pod)["drain_seconds"]
    assert settings(pod)["drain_seconds"] == Settings().drain_seconds


def test_the_sidecar_is_a_native_one_that_the_server_reaches_over_its_socket() -> None:
    pod = of_kind("sidecar", "Deployment")["spec"]["template"]["spec"]
    (server,) = pod["containers"]
    (address,) = (each["value"] for each in server["env"] if each["name"] == "EVALWARD_ADDRESS")
    mounted = {(each["name"], each["mountPath"], each.get("readOnly")) for each in server["volumeMounts"]}

    assert guard(pod)["restartPolicy"] == "Always"
    assert guard(pod) in pod["initContainers"]
    assert [address] == settings(pod)["listen"]
    assert mounted == {("socket", "/run/evalward", True)}


def test_the_service_is_mutual_tls_on_the_default_port() -> None:
    deployment = of_kind("service", "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    in_force = settings(pod)
    (address,) = (each for each in map(parse_listen, in_force["listen"]) if isinstance(each, TcpAddress))
    (port,) = (each for each in guard(pod)["ports"] if each["name"] == "grpc")
    default = parse_listen(DEFAULT_LISTEN)
    assert isinstance(default, TcpAddress)

    assert in_force["tls_cert"]
    assert in_force["tls_key"]
    assert in_force["client_ca"]
    assert in_force["insecure_remote"] is False
    assert address.port == port["containerPort"] == default.port
    assert deployment["spec"]["replicas"] >= 2


@pytest.mark.parametrize("file", ["sidecar", "service"])
def test_nobody_but_prometheus_reaches_the_admin_port(file: str) -> None:
    """The listener has neither TLS nor a token, and is reachable from the pod's network."""
    labels = of_kind(file, "Deployment")["spec"]["template"]["metadata"]["labels"]
    network = of_kind(file, "NetworkPolicy")["spec"]
    admin = [
        rule for rule in network["ingress"] if DEFAULT_ADMIN_PORT in {port["port"] for port in rule["ports"]}
    ]

    assert network["podSelector"]["matchLabels"].items() <= labels.items()
    assert network["policyTypes"] == ["Ingress", "Egress"]
    assert network["egress"] == []
    assert all(rule["from"] and rule["ports"] for rule in network["ingress"])
    assert [rule["from"] for rule in admin] == [
        [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]
    ]


def test_clients_find_every_replica_and_nobody_else_does() -> None:
    labels = of_kind("service", "Deployment")["spec"]["template"]["metadata"]["labels"]
    pod = of_kind("service", "Deployment")["spec"]["template"]["spec"]
    service = of_kind("service", "Service")["spec"]
    (port,) = service["ports"]
    budget = of_kind("service", "PodDisruptionBudget")["spec"]
    network = of_kind("service", "NetworkPolicy")["spec"]
    callers, monitoring = network["ingress"]

    assert service["clusterIP"] == "None"
    assert service["selector"] == labels
    assert port["targetPort"] in {each["name"] for each in guard(pod)["ports"]}
    assert port["port"] == guard(pod)["ports"][0]["containerPort"]
    assert budget["selector"]["matchLabels"] == labels
    assert budget["minAvailable"] < of_kind("service", "Deployment")["spec"]["replicas"]
    assert network["podSelector"]["matchLabels"] == labels
    assert network["egress"] == []
    assert [each["port"] for each in callers["ports"]] == [port["port"]]
    assert [each["port"] for each in monitoring["ports"]] == [DEFAULT_ADMIN_PORT]
