# The base is an argument, so that a site can build on its own image: any with python3 >= 3.11 and its venv module.
# By digest, since a tag can move. docs/how-to/supply-chain.md explains how to inspect and renew it.
ARG BASE=docker.io/library/python:3.11.13-slim-bookworm@sha256:86adf8dbadc3d6e82ee5dd2c74bec2e1c2467cdad47886280501df722372d2e1

FROM ${BASE} AS build
WORKDIR /build
RUN python3 -m venv /opt/build && python3 -m venv --without-pip /opt/evalward
COPY requirements.lock requirements-build.lock ./
RUN /opt/build/bin/python -m pip install --no-cache-dir --require-hashes -r requirements-build.lock \
    && /opt/build/bin/python -m pip --python /opt/evalward/bin/python \
        install --no-cache-dir --no-compile --require-hashes -r requirements.lock
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src src
COPY proto proto
RUN /opt/build/bin/python -m hatchling build -t wheel -d dist \
    && /opt/build/bin/python -m pip --python /opt/evalward/bin/python \
        install --no-cache-dir --no-compile --no-deps --no-index dist/*.whl \
    && /opt/evalward/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/evalward/lib \
    && mkdir -p /state/run/evalward /state/log/evalward \
    && mkdir -m 0700 /state/cache \
    && EVALWARD_CACHE_DIR=/state/cache /opt/evalward/bin/evalward eval -e 1
COPY deploy/image/root.py ./
RUN python3 root.py /root-of-image /opt/evalward

# Only the files of the base that run here: no shell, no package manager, no setuid program.
FROM scratch
COPY --from=build /root-of-image /
COPY --from=build /opt/evalward /opt/evalward
COPY --from=build --chown=65532:65532 --chmod=0750 /state/run/evalward /run/evalward
COPY --from=build --chown=65532:65532 --chmod=0700 /state/log/evalward /var/log/evalward
# The sandbox's engine, compiled: a CPU without this one's features compiles it again, in two seconds.
COPY --from=build --chown=65532:65532 --chmod=0700 /state/cache /var/cache/evalward
# The root file system may be read-only: only these two folders are written, and bytecode is already compiled.
ENV PATH=/opt/evalward/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    EVALWARD_LISTEN=unix:/run/evalward/evalward.sock \
    EVALWARD_AUDIT_LOG=/var/log/evalward/audit.jsonl \
    EVALWARD_CACHE_DIR=/var/cache/evalward
VOLUME ["/run/evalward", "/var/log/evalward"]
USER 65532:65532
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --retries=3 \
    CMD ["/opt/evalward/bin/evalward", "health", "unix:/run/evalward/evalward.sock"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["/opt/evalward/bin/evalward"]
CMD ["serve"]
