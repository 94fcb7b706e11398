"""The running server: start it, reload its files, drain it on SIGTERM."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from evalward.audit import AuditUnavailable, Kind
from evalward.judging.self_test import self_test
from evalward.server.lifecycle.assembly import Inputs, Parts
from evalward.server.lifecycle.critical_threads import SERVING
from evalward.server.lifecycle.lifecycle_records import lifecycle_record
from evalward.server.observe.metric_sources import MetricSources, limits_of
from evalward.thread_pool import prestart
from evalward.tools.servers import Servers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evalward.audit import AuditRecord, AuditSink
    from evalward.errors import Provenance
    from evalward.errors.stats import ErrorStats
    from evalward.guard.verdict import Verdict
    from evalward.policy import Policy
    from evalward.server.addresses import TcpAddress, UnixAddress
    from evalward.server.decide.evaluator import Runner
    from evalward.server.lifecycle.policy_reload import PolicyFile
    from evalward.server.observe.admin_listener import AdminListener
    from evalward.server.observe.observer import Observer
    from evalward.server.settings import Settings
    from evalward.server.transport.token_gate import TokenSource
    from evalward.tools import Manifest

LOG = logging.getLogger("evalward.server")

CANCEL_SECONDS = 0.5
# For threads and processes that start later: gRPC's core, replacement workers, the sandbox engine.
SPARE_THREADS = 24


class Server:
    """One gRPC server with its sockets, health service and audit log. Call ``start`` once, then ``stop`` once.

    With ``tokens`` every GuardService call must carry one. A ``policy_file``, a token file and the TLS files are
    reloaded when they change. ``observers`` are notified of every answered call.
    """

    def __init__(  # noqa: PLR0913 - its parts
        self,
        judge: Callable[..., Verdict],
        *,
        policy: Policy,
        provenance: Provenance,
        audit_log: AuditSink,
        settings: Settings,
        runner: Runner | None = None,
        tokens: TokenSource | None = None,
        policy_file: PolicyFile | None = None,
        manifest: Manifest | None = None,
        servers: Servers | None = None,
        stats: ErrorStats | None = None,
        observers: Sequence[Observer] = (),
    ) -> None:
        self._audit_log = audit_log
        self._settings = settings
        self._stats = stats
        self._manifest_digest = manifest.digest if manifest else None
        self._admin: AdminListener | None = None
        self.hook_addresses: list[str] = []
        self._parts = Parts(
            Inputs(
                judge=judge,
                policy=policy,
                provenance=provenance,
                audit_log=audit_log,
                settings=settings,
                runner=runner,
                tokens=tokens,
                policy_file=policy_file,
                manifest=manifest,
                servers=servers or Servers(),
                stats=stats,
                observers=observers,
            )
        )

    def start(self, addresses: Sequence[TcpAddress | UnixAddress]) -> list[str]:
        """Bind and serve; return the bound addresses.

        Raises ListenError, AuditUnavailable, NoWorkerError, NoThreadError, or SelfTestError.
        """
        parts = self._parts
        try:
            if parts.workers is None:
                self_test()
            else:
                parts.workers.wait_ready()
            prestart(parts.pools, spare=SPARE_THREADS)
            bound = [parts.listener.bind(address) for address in addresses]
            parts.connections.serves(ports=parts.listener.ports, paths=map(str, parts.listener.paths))
            self.hook_addresses = parts.hooks.bind(self._settings.hooks)
            for path in (*parts.listener.paths, *parts.hooks.paths):
                parts.file_watch.follow([path], self._check_sockets)
            if parts.monitoring is not None and self._settings.admin is not None:
                self._admin = parts.monitoring.listen(self._settings.admin, self._sources())
            self._audit_log.append(self._lifecycle_record(Kind.START))
            parts.health.open()
            parts.liveness.follow(self._serve(), self._own_address(bound))
            parts.file_watch.start()
            parts.periodic.start()
            if self._admin is not None:
                self._admin.start()
            parts.hooks.start()
        except Exception:
            parts.listener.close()
            parts.hooks.close()
            if self._admin is not None:
                self._admin.close()
            parts.executor.close()
            self._shut_down_pools()
            raise
        parts.readiness.open()
        return bound

    @property
    def admin_address(self) -> str | None:
        """The address of the admin listener, with its actual port."""
        return None if self._admin is None else self._admin.address

    def reload(self) -> None:
        """Reopen the audit log under its name, and reload the policy, the tokens and the certificates."""
        self._audit_log.reopen()
        self._parts.file_watch.look(at_once=True)

    def warm_up(self) -> None:
        """Start to build the sandbox engine if the settings ask for it; serving does not wait for it."""
        if self._parts.evaluates and self._settings.warm_sandbox:
            self._parts.sandbox.warm_up()

    def stop(self) -> bool:
        """Drain, close the sockets, write the stop record; return False when requests were cancelled."""
        parts = self._parts
        parts.readiness.close()
        parts.file_watch.stop()
        parts.service.in_flight.refuse_new()
        parts.health.drain()
        drained = parts.service.in_flight.drain(self._settings.drain_seconds)
        parts.liveness.close()
        self._stop_serving()
        parts.periodic.stop()
        parts.listener.close()
        parts.hooks.close()
        parts.executor.close()
        parts.sandbox.close()
        parts.health.close()
        try:
            self._audit_log.append(self._lifecycle_record(Kind.STOP))
        except AuditUnavailable as failure:
            LOG.error("no stop record: %s", failure)  # noqa: TRY400 - the cause is in the text
        self._audit_log.close()
        if self._stats is not None:
            try:
                self._stats.save()
            except OSError as failure:
                LOG.error("the error counts could not be saved: %s", failure.strerror)  # noqa: TRY400 - as above
        if self._admin is not None:
            self._admin.close()
        self._shut_down_pools()
        return drained

    def _serve(self) -> threading.Thread:
        """Start the gRPC server; return its dispatching thread, renamed so that it counts as critical."""
        before = {*threading.enumerate()}
        self._parts.grpc.start()
        (serving,) = [each for each in threading.enumerate() if each not in before and each.daemon]
        serving.name = SERVING
        return serving

    def _stop_serving(self) -> None:
        try:
            self._parts.grpc.stop(CANCEL_SECONDS).wait()
        except RuntimeError:
            # gRPC waits for the calls on a new thread. If none can be started, the calls are cancelled now.
            self._parts.grpc.stop(None).wait()

    def _own_address(self, bound: Sequence[str]) -> str | None:
        """Return an address at which the server can call itself without TLS; None if there is none."""
        reachable = [each for each in bound if each.startswith("unix:") or self._settings.tls is None]
        if not reachable:
            return None
        return reachable[0].replace("0.0.0.0:", "127.0.0.1:").replace("[::]:", "[::1]:")

    def _shut_down_pools(self) -> None:
        for pool in self._parts.pools:
            pool.shutdown(wait=False)

    def _check_sockets(self) -> bool:
        lost = [*self._parts.listener.lost(), *self._parts.hooks.lost()]
        for path in lost:
            LOG.error(
                "%s no longer belongs to this server: clients cannot reach it there, restart the server", path
            )
        self._parts.health.report("sockets", is_healthy=not lost)
        return True

    def _sources(self) -> MetricSources:
        parts = self._parts
        certificates = parts.certificates
        return MetricSources(
            load=parts.executor.load,
            streams=lambda: parts.service.streams,
            audit=self._audit_log.state,
            cache=None if parts.verdicts is None else parts.verdicts.info,
            provenance=parts.service.active_policy.provenance,
            reloads=parts.policy_reload,
            liveness=parts.liveness,
            readiness=parts.readiness,
            workers=None if parts.workers is None else parts.workers.info,
            limits=limits_of(
                self._settings,
                connections=parts.limits.connections,
                message_bytes=parts.message_bytes,
            ),
            connections_ended=lambda: parts.connections.ended,
            certificate_ends=None if certificates is None else certificates.ends,
            keeps_chain=self._audit_log.keeps_chain,
        )

    def _lifecycle_record(self, kind: Kind) -> AuditRecord:
        return lifecycle_record(
            kind,
            active_policy=self._parts.service.active_policy,
            audit_log=self._audit_log,
            settings=self._settings,
            manifest_digest=self._manifest_digest,
        )
