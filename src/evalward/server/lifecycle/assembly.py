"""The parts of one server and how they are connected.

Worker processes start with their pool, here; sockets are bound and threads are started by ``sidecar``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from grpc_reflection.v1alpha import reflection

from evalward.errors import Code
from evalward.guard.target import Target
from evalward.judging.caching import CachingExecutor
from evalward.judging.in_process import InProcessExecutor
from evalward.judging.verdict_cache import VerdictCache
from evalward.judging.workers.worker_pool import WorkerPool
from evalward.server.decide.active_policy import DeciderParts
from evalward.server.decide.lazy_sandbox import LazySandbox
from evalward.server.lifecycle.file_descriptors import connection_limits
from evalward.server.lifecycle.file_watch import FileWatch
from evalward.server.lifecycle.periodic import PeriodicTasks
from evalward.server.lifecycle.policy_reload import PolicyReload, StartupCapacity
from evalward.server.lifecycle.weakened_controls import weakened_controls
from evalward.server.observe.liveness import Liveness
from evalward.server.observe.observer import Observers
from evalward.server.observe.readiness import Readiness, parser_test
from evalward.server.transport.caller_identity import CallerIdentityReader
from evalward.server.transport.connections import Connections
from evalward.server.transport.door_calls import DoorCalls
from evalward.server.transport.grpc_server import bounded_server, call_threads, message_bytes
from evalward.server.transport.guard_service import SERVICE_NAME, GuardService
from evalward.server.transport.health_service import SERVICE_NAME as HEALTH_NAME
from evalward.server.transport.health_service import Health
from evalward.server.transport.hook_listener import RPC as HOOK_RPC
from evalward.server.transport.hook_listener import SPARE_THREADS as HOOK_SPARE_THREADS
from evalward.server.transport.hook_listener import HookListener
from evalward.server.transport.listener import Listener
from evalward.server.transport.pending_requests import PendingRequests
from evalward.server.transport.streams import Streams
from evalward.server.transport.tls import Certificates
from evalward.server.transport.token_file import TokenFile
from evalward.server.transport.token_gate import TokenGate
from evalward.thread_pool import PrestartedPool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import grpc

    from evalward.audit import AuditSink
    from evalward.errors import Provenance
    from evalward.errors.stats import ErrorStats
    from evalward.guard.verdict import Verdict
    from evalward.judging.executor import Executor
    from evalward.policy import Policy
    from evalward.server.decide.evaluator import Runner
    from evalward.server.lifecycle.file_descriptors import ConnectionLimits
    from evalward.server.lifecycle.policy_reload import PolicyFile
    from evalward.server.observe.monitoring import Monitoring
    from evalward.server.observe.observer import Observer
    from evalward.server.settings import Settings
    from evalward.server.transport.token_gate import TokenSource
    from evalward.tools import Manifest
    from evalward.tools.servers import Servers


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What one server is built from."""

    judge: Callable[..., Verdict]
    policy: Policy
    provenance: Provenance
    audit_log: AuditSink
    settings: Settings
    runner: Runner | None
    tokens: TokenSource | None
    policy_file: PolicyFile | None
    manifest: Manifest | None
    servers: Servers
    stats: ErrorStats | None
    observers: Sequence[Observer]


class Parts:
    """The parts of one server, built from ``inputs`` from the executor upwards to the listener.

    Raises CodedError (CONFIG_INVALID, ManifestError) and NoThreadError.
    """

    def __init__(self, inputs: Inputs) -> None:
        settings, audit_log, policy = inputs.settings, inputs.audit_log, inputs.policy
        self.health = Health([SERVICE_NAME])
        self.workers = _worker_pool(settings, self.health)
        self.verdicts = VerdictCache(settings.verdict_cache) if settings.verdict_cache else None
        self.executor = _executor(inputs.judge, settings, self.workers, self.verdicts)
        self.certificates = None if settings.tls is None else Certificates(settings.tls)
        self.monitoring = None if settings.admin is None else _monitoring()
        own = [self.monitoring.metrics] if self.monitoring else []
        self.observers = Observers([*own, *inputs.observers])
        self.sandbox = LazySandbox(
            deadline_ms=settings.evaluation_deadline_ms,
            queue=settings.evaluation_queue,
            runner=inputs.runner,
        )
        self.limits: ConnectionLimits = connection_limits(
            settings.max_connections, listeners=settings.listeners, workers=settings.workers
        )
        self.connections = Connections(self.limits.connections)
        self.streams = Streams(settings.max_streams, idle_seconds=settings.stream_idle)
        self.evaluates = policy.for_target(Target.SANDBOX).allowed
        decider_parts = DeciderParts(
            audit_log=audit_log,
            executor=self.executor,
            sandbox=self.sandbox,
            manifest=inputs.manifest,
            servers=inputs.servers,
            batch_items=settings.batch_items,
            batch_bytes=settings.batch_bytes,
            verbose=settings.errors_verbose,
        )
        self.service = self._guard_service(inputs, decider_parts)
        self.periodic = PeriodicTasks([self.streams.sweep, self.connections.sweep])
        self.file_watch = FileWatch()
        self.policy_reload = self._policy_reload(inputs, decider_parts)
        self._follow_files(inputs)
        pending_requests = PendingRequests(
            settings.unread,
            refuse=self.service.refuse_unread,
            gave_way=lambda: self._rejected_unread(audit_log, Code.OVERLOADED),
            unreadable=lambda: self._rejected_unread(audit_log, Code.INVALID_INPUT),
        )
        call_pool = PrestartedPool(
            call_threads(settings, pending_requests=pending_requests, evaluates=self.evaluates)
            + _gateway_streams(settings),
            "rpc",
        )
        self.message_bytes = message_bytes(settings, policy.limits.payload_bytes, evaluates=self.evaluates)
        self.hooks = HookListener(
            DoorCalls(self.service, HOOK_RPC),
            tokens=inputs.tokens,
            max_bytes=self.message_bytes,
            threads=settings.places + HOOK_SPARE_THREADS,
            unix_mode=settings.unix_mode,
        )
        self.pools = (call_pool, *self.health.pools)
        self.liveness = Liveness(self.pools)
        self.grpc = self._grpc_server(inputs, call_pool)
        self._add_handlers(pending_requests, settings)
        self.listener = Listener(
            self.grpc,
            credentials=None if self.certificates is None else self.certificates.credentials,
            insecure_remote=settings.insecure_remote,
            unix_mode=settings.unix_mode,
        )
        self.readiness = Readiness(
            policy=lambda: self.service.active_policy.policy,
            audit=audit_log.state,
            test=parser_test(self.workers),
            sockets=lambda: [*self.listener.lost(), *self.hooks.lost()],
            certificate=None if self.certificates is None else self.certificates.state,
        )
        audit_log.watch(lambda is_healthy: self.health.report("sink", is_healthy=is_healthy))

    def _guard_service(self, inputs: Inputs, decider_parts: DeciderParts) -> GuardService:
        settings = inputs.settings
        return GuardService(
            decider_parts.under(inputs.policy, inputs.provenance),
            streams=self.streams,
            stats=inputs.stats,
            observers=self.observers,
            callers=CallerIdentityReader(
                certificates=settings.tls is not None and settings.tls.client_ca is not None,
                tokens=inputs.tokens is not None,
                names=settings.client_names,
                heard=self.connections.heard,
            ),
        )

    def _policy_reload(self, inputs: Inputs, decider_parts: DeciderParts) -> PolicyReload | None:
        if inputs.policy_file is None:
            return None
        return PolicyReload(
            inputs.policy_file,
            self.service,
            inputs.audit_log,
            under=lambda policy: decider_parts.under(
                policy, replace(inputs.provenance, policy_digest=policy.digest)
            ),
            capacity=StartupCapacity(inputs.policy.limits.payload_bytes, self.evaluates),
            weakened=lambda policy: weakened_controls(policy, inputs.settings),
        )

    def _follow_files(self, inputs: Inputs) -> None:
        """Reload the policy, the tokens and the certificates when their files change."""
        if inputs.policy_file is not None and self.policy_reload is not None:
            self.file_watch.follow([inputs.policy_file.path], self.policy_reload)
        if isinstance(inputs.tokens, TokenFile):
            self.file_watch.follow([inputs.tokens.path], partial(inputs.tokens.reload, inputs.audit_log))
        certificates = self.certificates
        if certificates is not None:
            self.file_watch.follow(certificates.files.paths(), partial(certificates.reload, inputs.audit_log))
            self.file_watch.follow([certificates.files.certificate], certificates.log_expiry)

    def _grpc_server(self, inputs: Inputs, call_pool: PrestartedPool) -> grpc.Server:
        gate = None
        if inputs.tokens is not None:
            gate = TokenGate(
                inputs.tokens,
                lambda: self.service.active_policy.provenance,
                tally=lambda code: self._rejected_unread(inputs.audit_log, code),
            )
        return bounded_server(
            inputs.settings,
            self.message_bytes,
            pool=call_pool,
            connections=self.limits.per_listener,
            gate=gate,
        )

    def _add_handlers(self, pending_requests: PendingRequests, settings: Settings) -> None:
        self.grpc.add_generic_rpc_handlers((self.service.handler(pending_requests),))
        self.grpc.add_generic_rpc_handlers((self.health.handler(),))
        # The protocols of gateways take 3 MB, which most servers do without.
        if settings.ext_mcp:
            from evalward.server.transport.ext_mcp import ExtMcp  # noqa: PLC0415

            self.grpc.add_generic_rpc_handlers((ExtMcp(self.service).handler(pending_requests),))
        if settings.ext_proc:
            from evalward.server.transport.ext_proc import ExtProc  # noqa: PLC0415

            self.grpc.add_generic_rpc_handlers((ExtProc(self.service).handler(),))
        if settings.reflection:
            names = (SERVICE_NAME, HEALTH_NAME, reflection.SERVICE_NAME)
            reflection.enable_server_reflection(names, self.grpc)

    def _rejected_unread(self, audit_log: AuditSink, code: Code) -> None:
        """Count a call that is rejected before its request is read."""
        audit_log.tally(code)
        self.observers.turned_away(code)


def _gateway_streams(settings: Settings) -> int:
    """Return the threads for the streams of Envoy."""
    if not settings.ext_proc:
        return 0
    from evalward.server.transport.ext_proc import STREAMS  # noqa: PLC0415 - as above

    return STREAMS


def _monitoring() -> Monitoring:
    from evalward.server.observe.monitoring import Monitoring  # noqa: PLC0415 - loads the Prometheus client

    return Monitoring()


def _worker_pool(settings: Settings, health: Health) -> WorkerPool | None:
    if not settings.workers:
        return None
    return WorkerPool(
        settings.workers,
        queue=settings.queue,
        on_health=lambda is_healthy: health.report("workers", is_healthy=is_healthy),
    )


def _executor(
    judge: Callable[..., Verdict],
    settings: Settings,
    workers: WorkerPool | None,
    verdicts: VerdictCache | None,
) -> Executor:
    inner: Executor = workers or InProcessExecutor(
        judge, max_concurrent=settings.max_concurrent, queue=settings.queue
    )
    return inner if verdicts is None else CachingExecutor(inner, verdicts)
