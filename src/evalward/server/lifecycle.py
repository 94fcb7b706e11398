"""The life of one server: build it, start it, drain it on SIGTERM.

Why synchronous gRPC. ``benchmarks/transports.py``, grpcio 1.85, two busy cores, medians of three alternating
rounds; each request parses 1 KB, the health check arrives while three parses of 100 KB run:

====================  =======  ===========  ================  ===================  ===================
server                p50      CPU/request  health meanwhile  CPU/request (eight)  requests/s (eight)
====================  =======  ===========  ================  ===================  ===================
sync, 2 threads       0.57 ms  0.43 ms      38 ms             0.43 ms              2,097
sync, 20 threads      0.57 ms  0.42 ms      24 ms             0.39 ms              1,578
asyncio, in the loop  0.65 ms  0.51 ms      16 ms             0.47 ms              1,387
asyncio, thread pool  0.75 ms  0.63 ms      68 ms             0.59 ms              1,461
====================  =======  ===========  ================  ===================  ===================

The synchronous server is the cheapest, and more threads than requests cost nothing. Health waits for a parse
in every one of them, since parsing holds the GIL: worker processes behind the executor seam end that wait
(``evalward.workers``). The pool has a thread for each request that may run or wait, and spare ones for those that
are refused at once; health has threads of its own.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from grpc_reflection.v1alpha import reflection

from evalward.audit import AuditRecord, AuditUnavailable, Kind
from evalward.errors import Code
from evalward.guard.target import Target
from evalward.server.arrivals import Arrivals
from evalward.server.caching import CachingExecutor
from evalward.server.caller import CallerReader
from evalward.server.connections import Connections
from evalward.server.crew import Crew, muster
from evalward.server.descriptors import make_room
from evalward.server.executor import InProcessExecutor
from evalward.server.health import SERVICE_NAME as HEALTH_NAME
from evalward.server.health import Health
from evalward.server.in_force import Parts
from evalward.server.late import LateSandbox
from evalward.server.listen import Listener
from evalward.server.liveness import Liveness
from evalward.server.observer import Observers
from evalward.server.policy_reload import PolicyReload, Room
from evalward.server.readiness import Readiness, parser_test
from evalward.server.rounds import Rounds
from evalward.server.selftest import self_test
from evalward.server.service import SERVICE_NAME, GuardService
from evalward.server.sources import Sources, limits_of
from evalward.server.streams import Streams
from evalward.server.tls import Certificates
from evalward.server.token import TokenGate
from evalward.server.token_file import TokenFile
from evalward.server.transport import bounded_server, call_threads, message_bytes
from evalward.server.vital import SERVING
from evalward.server.watch import FileWatch
from evalward.server.weakened import weakened
from evalward.verdict_cache import VerdictCache
from evalward.workers.executor import WorkerExecutor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from evalward.audit import AuditSink
    from evalward.errors import Provenance
    from evalward.errors.stats import ErrorStats
    from evalward.guard.verdict import Verdict
    from evalward.policy import Policy
    from evalward.server.admin import AdminListener
    from evalward.server.evaluation import Runner
    from evalward.server.executor import Executor
    from evalward.server.listen import TcpAddress, UnixAddress
    from evalward.server.observation import Observation
    from evalward.server.observer import Observer
    from evalward.server.policy_reload import PolicyFile
    from evalward.server.settings import Settings
    from evalward.server.token import TokenSource
    from evalward.tools import Manifest

LOG = logging.getLogger("evalward.server")

CANCEL_SECONDS = 0.5
# For what starts a thread or a process by itself later: gRPC's core, the successor of a worker, the sandbox's engine.
SPARE_THREADS = 24


class Server:
    """One gRPC server with its sockets, health and audit log. ``start`` once, then ``stop`` once.

    With ``tokens`` every call of the service must carry one. A ``policy_file``, a token file and the files of TLS
    are taken anew when they change. ``observers`` are told of every answer.
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
        stats: ErrorStats | None = None,
        observers: Sequence[Observer] = (),
    ) -> None:
        self._audit_log = audit_log
        self._settings = settings
        self._health = Health([SERVICE_NAME])
        self._workers = _workers(settings, self._health)
        self._verdicts = VerdictCache(settings.verdict_cache) if settings.verdict_cache else None
        self._executor = _executor(judge, settings, self._workers, self._verdicts)
        self._certificates = None if settings.tls is None else Certificates(settings.tls)
        self._readiness = Readiness(
            policy=lambda: self._service.in_force.policy,
            audit=audit_log.state,
            test=parser_test(self._workers),
            sockets=self._lost_sockets,
            certificate=None if self._certificates is None else self._certificates.state,
        )
        self._observation = None if settings.admin is None else _observation()
        self._admin: AdminListener | None = None
        own = [self._observation.metrics] if self._observation else []
        self._observers = Observers([*own, *observers])
        self._stats = stats
        self._manifest_digest = manifest.digest if manifest else None
        self._sandbox = LateSandbox(
            deadline_ms=settings.evaluation_deadline_ms, queue=settings.evaluation_queue, runner=runner
        )
        parts = Parts(
            audit_log=audit_log,
            executor=self._executor,
            sandbox=self._sandbox,
            manifest=manifest,
            batch_items=settings.batch_items,
            batch_bytes=settings.batch_bytes,
            verbose=settings.errors_verbose,
        )
        self._room = make_room(
            settings.max_connections, listeners=settings.listeners, workers=settings.workers
        )
        self._connections = Connections(self._room.connections)
        self._streams = Streams(settings.max_streams, idle_seconds=settings.stream_idle)
        self._service = GuardService(
            parts.under(policy, provenance),
            streams=self._streams,
            stats=stats,
            observers=self._observers,
            callers=CallerReader(
                certificates=settings.tls is not None and settings.tls.client_ca is not None,
                tokens=tokens is not None,
                names=settings.client_names,
                heard=self._connections.heard,
            ),
        )
        self._evaluates = policy.for_target(Target.SANDBOX).allowed
        self._rounds = Rounds([self._streams.sweep, self._connections.sweep])
        self._watch = FileWatch()
        self._policy_reload: PolicyReload | None = None
        if policy_file is not None:
            self._policy_reload = PolicyReload(
                policy_file,
                self._service,
                audit_log,
                under=lambda fresh: parts.under(fresh, replace(provenance, policy_digest=fresh.digest)),
                room=Room(policy.limits.payload_bytes, self._evaluates),
                weakened=lambda fresh: weakened(fresh, settings),
            )
            self._watch.follow([policy_file.path], self._policy_reload)
        if isinstance(tokens, TokenFile):
            self._watch.follow([tokens.path], partial(tokens.reload, audit_log))
        certificates = self._certificates
        if certificates is not None:
            self._watch.follow(certificates.files.paths(), partial(certificates.reload, audit_log))
            self._watch.follow([certificates.files.certificate], certificates.tell)
        arrivals = Arrivals(
            settings.unread,
            refuse=self._service.no_room,
            gave_way=lambda: self._turned_away(Code.OVERLOADED),
            unreadable=lambda: self._turned_away(Code.INVALID_INPUT),
        )
        crew = Crew(call_threads(settings, arrivals=arrivals, evaluates=self._evaluates), "rpc")
        self._crews = (crew, *self._health.crews)
        self._liveness = Liveness(self._crews)
        self._message_bytes = message_bytes(settings, policy.limits.payload_bytes, evaluates=self._evaluates)
        self._grpc = bounded_server(
            settings,
            self._message_bytes,
            crew=crew,
            connections=self._room.per_listener,
            gate=None
            if tokens is None
            else TokenGate(tokens, lambda: self._service.in_force.provenance, tally=self._turned_away),
        )
        self._grpc.add_generic_rpc_handlers((self._service.handler(arrivals),))
        self._grpc.add_generic_rpc_handlers((self._health.handler(),))
        if settings.reflection:
            names = (SERVICE_NAME, HEALTH_NAME, reflection.SERVICE_NAME)
            reflection.enable_server_reflection(names, self._grpc)
        self._listener = Listener(
            self._grpc,
            credentials=None if certificates is None else certificates.credentials,
            insecure_remote=settings.insecure_remote,
            unix_mode=settings.unix_mode,
        )
        audit_log.watch(lambda is_healthy: self._health.report("sink", is_healthy=is_healthy))

    def start(self, addresses: Sequence[TcpAddress | UnixAddress]) -> list[str]:
        """Bind and serve; return the real addresses.

        Raise ListenError, AuditUnavailable, NoWorkerError, NoThreadError, or SelfTestError.
        """
        try:
            if self._workers is None:
                self_test()
            else:
                self._workers.wait_ready()
            muster(self._crews, spare=SPARE_THREADS)
            bound = [self._listener.bind(address) for address in addresses]
            self._connections.serves(ports=self._listener.ports, paths=map(str, self._listener.paths))
            for path in self._listener.paths:
                self._watch.follow([path], self._look_at_sockets)
            if self._observation is not None and self._settings.admin is not None:
                self._admin = self._observation.listen(self._settings.admin, self._sources())
            self._audit_log.append(self._lifecycle_record(Kind.START))
            self._health.open()
            self._liveness.follow(self._serve(), self._own_address(bound))
            self._watch.start()
            self._rounds.start()
            if self._admin is not None:
                self._admin.start()
        except Exception:
            self._listener.close()
            if self._admin is not None:
                self._admin.close()
            self._executor.close()
            self._dismiss()
            raise
        self._readiness.open()
        return bound

    @property
    def admin_address(self) -> str | None:
        """Where probes and metrics are served, with the real port."""
        return None if self._admin is None else self._admin.address

    def reload(self) -> None:
        """Go on in the file that has the log's name now, and take the policy, the tokens and the certificates anew."""
        self._audit_log.reopen()
        self._watch.look(at_once=True)

    def warm_up(self) -> None:
        """Begin to build the sandbox's engine, if it is wanted: after the start, which must not wait for it."""
        if self._evaluates and self._settings.warm_sandbox:
            self._sandbox.warm_up()

    def stop(self) -> bool:
        """Drain, close the sockets, write the stop record; False when requests had to be cut off."""
        self._readiness.close()
        self._watch.stop()
        self._service.refuse_new()
        self._health.drain()
        drained = self._service.drain(self._settings.drain_seconds)
        self._liveness.close()
        self._stop_serving()
        self._rounds.stop()
        self._listener.close()
        self._executor.close()
        self._sandbox.close()
        self._health.close()
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
        self._dismiss()
        return drained

    def _serve(self) -> threading.Thread:
        """Start gRPC's server; return the thread on which it hands calls over, under the name of a vital one."""
        before = {*threading.enumerate()}
        self._grpc.start()
        (serving,) = [each for each in threading.enumerate() if each not in before and each.daemon]
        serving.name = SERVING
        return serving

    def _stop_serving(self) -> None:
        try:
            self._grpc.stop(CANCEL_SECONDS).wait()
        except RuntimeError:
            # It waits on a thread of its own for the calls to end. Without one, they end now.
            self._grpc.stop(None).wait()

    def _own_address(self, bound: Sequence[str]) -> str | None:
        """Return where the server can call itself; None: nowhere, since it does so without TLS."""
        within_reach = [each for each in bound if each.startswith("unix:") or self._settings.tls is None]
        if not within_reach:
            return None
        return within_reach[0].replace("0.0.0.0:", "127.0.0.1:").replace("[::]:", "[::1]:")

    def _dismiss(self) -> None:
        for crew in self._crews:
            crew.shutdown(wait=False)

    def _lost_sockets(self) -> list[Path]:
        return self._listener.lost()

    def _look_at_sockets(self) -> bool:
        lost = self._lost_sockets()
        for path in lost:
            LOG.error("%s is not this server's any more: clients do not reach it there, restart it", path)
        self._health.report("sockets", is_healthy=not lost)
        return True

    def _turned_away(self, code: Code) -> None:
        self._audit_log.tally(code)
        self._observers.turned_away(code)

    def _sources(self) -> Sources:
        return Sources(
            load=self._executor.load,
            streams=lambda: self._service.streams,
            audit=self._audit_log.state,
            cache=None if self._verdicts is None else self._verdicts.info,
            provenance=self._service.in_force.provenance,
            reloads=self._policy_reload,
            liveness=self._liveness,
            readiness=self._readiness,
            workers=None if self._workers is None else self._workers.info,
            limits=limits_of(
                self._settings,
                connections=self._room.connections,
                message_bytes=self._message_bytes,
            ),
            connections_ended=lambda: self._connections.ended,
            certificates=self._certificates,
            keeps_chain=self._audit_log.keeps_chain,
        )

    def _lifecycle_record(self, kind: Kind) -> AuditRecord:
        terms = self._audit_log.terms if kind is Kind.START else None
        policy, provenance = self._service.in_force.policy, self._service.in_force.provenance
        return AuditRecord(
            kind=kind,
            integrity=None if terms is None else terms.integrity,
            key_id=None if terms is None else terms.key_id,
            durability=None if terms is None else terms.durability,
            reason=None if terms is None else terms.reset,
            policy_digest=provenance.policy_digest,
            manifest_digest=self._manifest_digest,
            ruleset=provenance.ruleset_digest,
            grammar=provenance.grammar_version,
            version=provenance.service_version,
            weakened=weakened(policy, self._settings) if kind is Kind.START else (),
        )


def _observation() -> Observation:
    from evalward.server.observation import Observation  # noqa: PLC0415 - only who asks for metrics loads the client

    return Observation()


def _workers(settings: Settings, health: Health) -> WorkerExecutor | None:
    if not settings.workers:
        return None
    return WorkerExecutor(
        settings.workers,
        queue=settings.queue,
        on_health=lambda is_healthy: health.report("workers", is_healthy=is_healthy),
    )


def _executor(
    judge: Callable[..., Verdict],
    settings: Settings,
    workers: WorkerExecutor | None,
    verdicts: VerdictCache | None,
) -> Executor:
    inner: Executor = workers or InProcessExecutor(
        judge, max_concurrent=settings.max_concurrent, queue=settings.queue
    )
    return inner if verdicts is None else CachingExecutor(inner, verdicts)
