// Every reply that is not a proven ALLOW of the request is a denial, with the reason in its envelope.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import http2 from 'node:http2';
import net from 'node:net';
import { test } from 'node:test';
import { Metadata, status } from '@grpc/grpc-js';
import { Guard } from 'evalward';
import { fakeService, POLICY_DIGEST, richStatus, RPCS, serialised, sha256, trueAllow } from './service.mjs';

const CASES = JSON.parse(readFileSync(new URL('data/denials.json', import.meta.url), 'utf8'));
const CODE = 'document.title';
const DECLARED = { shape: 'expression', profile: 'strict' };
const RESETS = new Set(
  [
    'NO_ERROR',
    'PROTOCOL_ERROR',
    'INTERNAL_ERROR',
    'FLOW_CONTROL_ERROR',
    'STREAM_CLOSED',
    'FRAME_SIZE_ERROR',
    'REFUSED_STREAM',
    'CANCEL',
    'COMPRESSION_ERROR',
    'CONNECT_ERROR',
    'ENHANCE_YOUR_CALM',
    'INADEQUATE_SECURITY',
    'HTTP_1_1_REQUIRED',
  ].map((name) => `NGHTTP2_${name}`),
);
/** @type {Map<string, net.Server>} */
const servers = new Map();

function guardAt(t, address, options = {}) {
  const guard = new Guard({
    address,
    timeoutMs: 10_000,
    connectTimeoutMs: 10_000,
    policyDigest: POLICY_DIGEST,
    ...options,
  });
  t.after(() => guard.close());
  return guard;
}

function ask(guard, rpc, code, extra) {
  return rpc === 'check' ? guard.check(code, { target: 'renderer', ...extra }) : guard.evaluate(code, extra);
}

function assertDenied(answer, code) {
  assert.equal('allowed' in answer ? answer.allowed : answer.ok, false);
  assert.equal(answer.envelope.ok, false);
  assert.equal(answer.code, answer.envelope.code);
  if (code !== undefined) assert.equal(answer.code, code);
  assert.ok(answer.envelope.error.length > 0);
  assert.ok(answer.envelope.hint.length > 0);
  assert.equal(answer.resultJson, undefined);
  assert.ok(!JSON.stringify(answer.envelope).includes(CODE), 'a denial of the client holds no payload');
}

/** Answer a valid ALLOW with the given `change`. */
function changed(rpc, request, change) {
  if (change.wire !== undefined) return Buffer.from(change.wire, 'hex');
  const reply = trueAllow(rpc, request);
  for (const [field, value] of Object.entries(change.binding ?? {})) {
    if (value === null) delete reply.binding[field];
    else reply.binding[field] = value;
  }
  if (change.upper) reply.binding[change.upper] = reply.binding[change.upper].toUpperCase();
  if (change.meta) {
    const envelope = JSON.parse(reply.envelope.toString());
    reply.envelope = Buffer.from(JSON.stringify({ ...envelope, _meta: { ...envelope._meta, ...change.meta } }));
  }
  if (change.add) {
    const envelope = JSON.parse(reply.envelope.toString());
    reply.envelope = Buffer.from(JSON.stringify({ ...envelope, ...change.add }));
  }
  if (change.envelope !== undefined) reply.envelope = Buffer.from(change.envelope);
  if (change.envelopeBytes !== undefined) reply.envelope = Buffer.from(change.envelopeBytes, 'hex');
  if (change.result !== undefined) reply.allowed = { result_json: Buffer.from(change.result) };
  if (change.unresulted) {
    const envelope = JSON.parse(reply.envelope.toString());
    delete envelope.result_json;
    reply.envelope = Buffer.from(JSON.stringify(envelope));
  }
  if (change.error !== undefined) {
    delete reply.allowed;
    reply.error = { code: change.error };
  }
  for (const field of change.clear ?? []) delete reply[field];
  if (change.both) {
    const { allowed, ...rest } = reply;
    const error = serialised(rpc, { error: { code: 'EVAL_BLOCKED_CONSTRUCT' } });
    const allow = [serialised(rpc, rest), serialised(rpc, { allowed })];
    return Buffer.concat(change.both === 'error first' ? [error, ...allow] : [...allow, error]);
  }
  return Buffer.concat([serialised(rpc, reply), Buffer.from(change.append ?? '', 'hex')]);
}

for (const rpc of RPCS) {
  test(`${rpc}: a true ALLOW is an ALLOW, in every shape and without one`, async (t) => {
    const { address } = await fakeService(t, trueAllow);
    const guard = guardAt(t, address);
    for (const shape of [undefined, 'script', 'expression', 'function', 'async_body']) {
      const answer = await ask(guard, rpc, CODE, shape === undefined ? {} : { shape });
      assert.equal('allowed' in answer ? answer.allowed : answer.ok, true);
      assert.equal(answer.code, null);
      assert.equal(answer.codeHash, sha256(CODE));
      assert.equal(answer.decisionId, 'd1');
    }
  });

  for (const change of CASES.replies) {
    if (change.rpcs && !change.rpcs.includes(rpc)) continue;
    test(`${rpc}: ${change.name}`, async (t) => {
      const { address } = await fakeService(t, (_, request) => changed(rpc, request, change));

      const answer = await ask(
        guardAt(t, address),
        rpc,
        CODE,
        change.unshaped ? {} : change.unasked ? { shape: 'expression' } : DECLARED,
      );

      assertDenied(answer, 'INTERNAL');
      assert.match(answer.envelope.error, new RegExp(change.says));
    });
  }

  test(`${rpc}: every gRPC status`, async (t) => {
    const names = Object.keys(status).filter((name) => Number.isNaN(Number(name)) && name !== 'OK');
    assert.deepEqual(Object.keys(CASES.statuses).sort(), names.sort(), 'the table names every status');
    let code = 0;
    const { address } = await fakeService(t, () => ({ code, details: 'no' }));
    const guard = guardAt(t, address);
    for (const name of names) {
      code = status[name];
      const answer = await ask(guard, rpc, CODE, DECLARED);
      assertDenied(answer, CASES.statuses[name]);
      assert.equal(answer.envelope.details.grpc_status, name);
    }
  });

  test(`${rpc}: a status that no version knows`, async (t) => {
    const { address } = await fakeService(t, () => ({ code: 99, details: 'no' }));
    assertDenied(await ask(guardAt(t, address), rpc, CODE, DECLARED), 'INTERNAL');
  });

  test(`${rpc}: a status OK without a message`, async (t) => {
    const { address } = await fakeService(t, (_, __, call) => {
      call.sendMetadata(new Metadata());
      return { code: status.OK, details: '' };
    });
    assertDenied(await ask(guardAt(t, address), rpc, CODE, DECLARED));
  });

  test(`${rpc}: the envelope that a status carries is the answer, unless it allows`, async (t) => {
    let attached;
    const { address } = await fakeService(t, () => ({ code: status.UNAVAILABLE, details: 'no', metadata: attached }));
    const guard = guardAt(t, address);
    const told = { ok: false, code: 'AUDIT_UNAVAILABLE', error: 'e', hint: 'h', _meta: { decision_id: 'd7' } };
    const table = [
      [richStatus(told), 'AUDIT_UNAVAILABLE'],
      [richStatus({ ok: true, _meta: {} }), 'INTERNAL'],
      [richStatus({ ok: false, _meta: {} }), 'INTERNAL'],
      [Buffer.from('ffffff', 'hex'), 'SERVICE_UNREACHABLE'],
      [Buffer.alloc(0), 'SERVICE_UNREACHABLE'],
    ];
    for (const [bytes, code] of table) {
      attached = new Metadata();
      attached.set('grpc-status-details-bin', bytes);
      assertDenied(await ask(guard, rpc, CODE, DECLARED), code);
    }
    attached.set('grpc-status-details-bin', table[0][0]);
    assert.deepEqual((await ask(guard, rpc, CODE, DECLARED)).envelope, told);
  });

  test(`${rpc}: no answer within the budget`, async (t) => {
    const { address } = await fakeService(t, () => undefined);
    const extra = rpc === 'evaluate' ? { limits: { deadline_ms: 1 } } : {};
    assertDenied(await ask(guardAt(t, address, { timeoutMs: 50 }), rpc, CODE, extra), 'DEADLINE_EXCEEDED');
  });

  test(`${rpc}: no process listens, or one listens and never answers, or closes the connection`, async (t) => {
    const behaviours = [
      (socket) => socket.resume(),
      (socket) => socket.destroy(),
      (socket) => socket.once('data', () => socket.resetAndDestroy()),
      (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'),
    ];
    for (const behaviour of behaviours) {
      const address = await listening(t, net.createServer(behaviour));
      const guard = guardAt(t, address, { connectTimeoutMs: 200 });
      assertDenied(await ask(guard, rpc, CODE, DECLARED), 'SERVICE_UNREACHABLE');
      assert.equal(await guard.ready(), false);
    }
    const free = await listening(t, net.createServer());
    await new Promise((resolve) => servers.get(free).close(resolve));
    assertDenied(await ask(guardAt(t, free, { connectTimeoutMs: 200 }), rpc, CODE, DECLARED), 'SERVICE_UNREACHABLE');
  });

  for (const [name, answer] of Object.entries(breakdowns())) {
    test(`${rpc}: ${name}`, async (t) => {
      const server = http2.createServer();
      server.on('stream', (stream) => {
        stream.on('error', () => {});
        stream.session.on('error', () => {});
        answer(stream);
      });
      const address = await listening(t, server);
      assertDenied(await ask(guardAt(t, address, { timeoutMs: 500 }), rpc, CODE, {}));
    });
  }

  test(`${rpc}: a service that goes away, and a client that was closed`, async (t) => {
    const service = await fakeService(t, trueAllow);
    const guard = guardAt(t, service.address, { connectTimeoutMs: 2_000 });
    assert.equal((await ask(guard, rpc, CODE, DECLARED)).code, null);
    service.stop();
    assertDenied(await ask(guard, rpc, CODE, DECLARED)); // the connection may break before the call or under it
    assertDenied(await ask(guard, rpc, CODE, DECLARED), 'SERVICE_UNREACHABLE');

    const other = guardAt(t, (await fakeService(t, trueAllow)).address);
    assert.equal((await ask(other, rpc, CODE, DECLARED)).code, null);
    other.close();
    assertDenied(await ask(other, rpc, CODE, DECLARED), 'SERVICE_UNREACHABLE');
  });

  for (const payload of ['\ud800', 'a\udc00b', '\udfff\ud800', '"a\ud83d"']) {
    test(`${rpc}: a payload with a lone surrogate is never sent: ${JSON.stringify(payload)}`, async (t) => {
      let calls = 0;
      const { address } = await fakeService(t, (_, request) => {
        calls += 1;
        return trueAllow(rpc, request);
      });
      assertDenied(await ask(guardAt(t, address), rpc, payload, DECLARED), 'EVAL_BAD_ENCODING');
      assert.equal(calls, 0);
    });
  }

  test(`${rpc}: a pair of surrogates, a BOM and a NUL arrive byte for byte`, async (t) => {
    const received = [];
    const { address } = await fakeService(t, (_, request) => {
      received.push(request.code);
      return trueAllow(rpc, request);
    });
    const guard = guardAt(t, address);
    for (const payload of ['"\u{1f600}"', '\ufeff1', '1\0', '"\u2028"', '']) {
      assert.equal((await ask(guard, rpc, payload, DECLARED)).code, null);
      assert.deepEqual(received.pop() ?? Buffer.alloc(0), Buffer.from(payload, 'utf8'));
    }
  });

  test(`${rpc}: a payload that is no string is never sent`, async (t) => {
    const { address } = await fakeService(t, trueAllow);
    const guard = guardAt(t, address);
    const objects = [undefined, null, 1, true, Buffer.from(CODE), new String(CODE), [CODE], { toString: () => CODE }];
    for (const payload of objects) assertDenied(await ask(guard, rpc, payload, DECLARED), 'INVALID_INPUT');
  });
}

for (const { name, options, field } of CASES.requests) {
  test(`check: a request with ${name} is never sent`, async (t) => {
    let calls = 0;
    const { address } = await fakeService(t, (rpc, request) => {
      calls += 1;
      return trueAllow(rpc, request);
    });

    const decision = await guardAt(t, address).check(CODE, options);

    assertDenied(decision, 'INVALID_INPUT');
    assert.equal(decision.envelope.details.field, field);
    assert.equal(calls, 0);
  });
}

test('check: options that throw when they are read', async (t) => {
  const { address } = await fakeService(t, trueAllow);
  const options = {
    get target() {
      throw new Error(CODE);
    },
  };
  assertDenied(await guardAt(t, address).check(CODE, options), 'INTERNAL');
});

test('evaluate: an argument, a seed or a limit that cannot be sent', async (t) => {
  const { address } = await fakeService(t, trueAllow);
  const guard = guardAt(t, address);
  const cycle = {};
  cycle.self = cycle;
  const table = [{ argument: cycle }, { argument: 1n }, { argument: () => 1 }, { argument: Symbol('s') }, { seed: -1 }];
  for (const options of [...table, { seed: 2 ** 60 }, { limits: { feul: 1 } }, { limits: 1 }, { shape: 'moon' }]) {
    assertDenied(await guard.evaluate(CODE, options), 'INVALID_INPUT');
  }
});

test('every field of a request arrives', async (t) => {
  const received = [];
  const { address } = await fakeService(t, (rpc, request) => {
    received.push(request);
    return trueAllow(rpc, request);
  });
  const guard = guardAt(t, address);
  await guard.check(CODE, {
    target: 'node',
    shape: 'async_body',
    profile: 'strict',
    bindings: { page: 'playwright.page' },
    limits: { payload_bytes: 1, depth: 2, nodes_per_64k: 3, steps: 4 },
    sessionId: 's1',
    includeContext: true,
  });
  await guard.evaluate(CODE, {
    argument: { a: [1, '\ud800'] },
    limits: { fuel: 5, deadline_ms: 6, memory_bytes: 7, stack_bytes: 8, result_bytes: 9, console_bytes: 10 },
    guardLimits: { steps: 11 },
    seed: Number.MAX_SAFE_INTEGER,
    sessionId: 's2',
  });
  const [checked, evaluated] = received;
  assert.equal(checked.target, 'TARGET_NODE');
  assert.equal(checked.shape, 'SHAPE_ASYNC_BODY');
  assert.equal(checked.profile, 'PROFILE_STRICT');
  assert.deepEqual({ ...checked.bindings }, { page: 'playwright.page' });
  const { payload_bytes, depth, nodes_per_64k, steps } = checked.limits;
  assert.deepEqual([payload_bytes, depth, nodes_per_64k, steps], ['1', '2', '3', '4']);
  assert.equal(checked.session_id, 's1');
  assert.equal(checked.include_context, true);
  assert.equal(evaluated.argument_json.toString(), '{"a":[1,"\\ud800"]}');
  assert.equal(evaluated.limits.fuel, '5');
  assert.equal(evaluated.limits.console_bytes, '10');
  assert.equal(evaluated.guard_limits.steps, '11');
  assert.equal(evaluated.seed, String(Number.MAX_SAFE_INTEGER));
  assert.equal(evaluated.session_id, 's2');
  assert.match(checked.request_id, /^[0-9a-f]{16}$/);
  assert.notEqual(checked.request_id, evaluated.request_id);
});

/** Failures of a connection after the call has arrived. */
function breakdowns() {
  const head = { ':status': 200, 'content-type': 'application/grpc' };
  const codes = Object.entries(http2.constants).filter(([name]) => /^NGHTTP2_[A-Z_0-9]+$/.test(name));
  const resets = codes.filter(([name, code]) => RESETS.has(name) && typeof code === 'number');
  assert.equal(resets.length, RESETS.size);
  return {
    'the connection is reset': (stream) => stream.session.destroy(),
    'the socket is reset': (stream) => stream.session.socket.resetAndDestroy?.() ?? stream.session.destroy(),
    'the connection goes away': (stream) => stream.session.goaway(http2.constants.NGHTTP2_INTERNAL_ERROR),
    'headers, then the connection is reset': (stream) => {
      stream.respond(head);
      stream.write(Buffer.from([0, 0, 0, 0, 9, 1]), () => stream.session.destroy());
    },
    'HTTP 500': (stream) => {
      stream.respond({ ':status': 500 });
      stream.end('{}');
    },
    'HTTP 200 without gRPC': (stream) => {
      stream.respond({ ':status': 200, 'content-type': 'text/html' });
      stream.end('<html>');
    },
    'no trailers': (stream) => {
      stream.respond(head);
      stream.end();
    },
    'a message that is longer than it says': (stream) => {
      stream.respond(head, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(Buffer.from([0, 0, 0, 0, 1, 0x12, 0, 0, 0, 0, 0, 0, 0]));
    },
    'status 0 and no message': (stream) => {
      stream.respond(head, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end();
    },
    ...Object.fromEntries(resets.map(([name, code]) => [`RST_STREAM ${name}`, (stream) => stream.close(code)])),
  };
}

async function listening(t, server) {
  const sockets = new Set();
  server.on('connection', (socket) => {
    socket.on('error', () => {});
    sockets.add(socket);
  });
  server.on('sessionError', () => {});
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `127.0.0.1:${server.address().port}`;
  servers.set(address, server);
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return address;
}
