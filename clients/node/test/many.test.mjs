// Tool calls, batches and streams: an unproven verdict is a denial. The tables are those of the Python clients.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import * as grpc from '@grpc/grpc-js';
import { Guard, spawn } from 'evalward';
import { definition, missing, POLICY_DIGEST, scratch, sha256 } from './service.mjs';

const read = (name) => JSON.parse(readFileSync(new URL(`../../../tests/data/client/${name}`, import.meta.url), 'utf8'));
const methods = definition['evalward.v1.GuardService'];
const PAYLOADS = [
  { code: 'document.title', target: 'renderer' },
  { code: 'process.exit()', target: 'renderer' },
  { code: '1', target: 'renderer' },
];
const META = { decision_id: 'd0', provenance: { policy_digest: POLICY_DIGEST } };
const DENIED = { ok: false, code: 'EVAL_BLOCKED_CONSTRUCT', error: 'e', hint: 'h', _meta: META };
const json = (value) => Buffer.from(JSON.stringify(value));

async function serve(t, handlers) {
  const server = new grpc.Server();
  server.addService(Object.fromEntries(Object.keys(handlers).map((name) => [name, methods[name]])), handlers);
  t.after(() => server.forceShutdown());
  const port = await new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (failure, bound) =>
      failure ? reject(failure) : resolve(bound),
    );
  });
  return `127.0.0.1:${port}`;
}

function guardAt(t, address, options = {}) {
  const guard = new Guard({ address, timeoutMs: 10_000, policyDigest: POLICY_DIGEST, ...options });
  t.after(() => guard.close());
  return guard;
}

function bindingOf(item) {
  return {
    code_hash: sha256(item.code ?? item.arguments_json),
    target: item.target ?? 'TARGET_RENDERER',
    policy_digest: POLICY_DIGEST,
    decision_id: 'd0',
    profile: 'PROFILE_BALANCED',
    request_id: item.request_id,
  };
}

/** Return a valid reply with the changes of the case. */
function batched(change, request) {
  const error = { code: 'EVAL_BLOCKED_CONSTRUCT' };
  const bindings = request.items.map(bindingOf);
  const failed = { item_index: 1, status: 2, error, envelope: json(DENIED), ...change.failure };
  if (change.failure_envelope) failed.envelope = Buffer.from(change.failure_envelope);
  const failures = [failed, ...(change.skip ? [{ item_index: 2, status: 3 }] : [])];
  if (change.skip) bindings.splice(2, 1);
  if (change.drop !== undefined) bindings.splice(change.drop, 1);
  if (change.swap) {
    const [one, other] = change.swap;
    [bindings[one], bindings[other]] = [bindings[other], bindings[one]];
  }
  if (change.binding) {
    const { at, ...values } = change.binding;
    Object.assign(bindings[at], values);
  }
  const outcome = change.allow ? { allowed: {} } : { error };
  const envelope = change.allow ? json({ ok: true, _meta: META }) : json(DENIED);
  const reply = { item_count: 3, bindings, failures, ...outcome, envelope, ...change.set };
  if (change.envelope) reply.envelope = Buffer.from(change.envelope);
  for (const field of change.clear ?? []) delete reply[field];
  return reply;
}

/** Answer each request validly, with the changes of the case. */
function streaming(change) {
  return (call) => {
    let index = 0;
    call.on('data', ({ item }) => {
      const isDenied = item.code.toString() === 'process.exit()';
      let reply = {
        item_index: index,
        status: isDenied ? 2 : 1,
        binding: bindingOf(item),
        ...(isDenied ? { error: { code: 'EVAL_BLOCKED_CONSTRUCT' } } : { allowed: {} }),
        envelope: json(isDenied ? DENIED : { ok: true, _meta: META }),
      };
      if (change.at === index) {
        if (change.cut) return void call.end();
        if (change.late) call.write(reply);
        reply = { ...reply, ...change.set, binding: { ...reply.binding, ...change.binding } };
        for (const field of change.clear ?? []) delete reply[field];
      }
      index += 1;
      call.write(reply);
    });
    call.on('end', () => call.end());
  };
}

async function collected(items) {
  const all = [];
  for await (const item of items) all.push(item);
  return all;
}

function assertSound(items, allowed) {
  assert.deepEqual(
    items.map((item) => item.allowed),
    allowed,
  );
  for (const [index, item] of items.entries()) {
    assert.equal(item.itemIndex, index);
    assert.equal(item.envelope.ok, item.allowed);
    assert.equal(item.code === null, item.allowed);
    assert.equal(item.status === 'allowed', item.allowed);
  }
}

for (const change of read('batches.json').cases) {
  test(`a batch: ${change.name}`, async (t) => {
    const answer = ({ request }, done) => done(null, batched(change, request));
    const guard = guardAt(t, await serve(t, { ValidateBatch: answer }));

    const reply = await guard.validateBatch(PAYLOADS, { stopOnFirst: true });

    assert.equal(reply.allowed, false);
    assert.equal(reply.code, reply.envelope.code);
    assertSound(reply.items, change.allowed);
  });
}

for (const change of read('streams.json').cases) {
  test(`a stream: ${change.name}`, async (t) => {
    const guard = guardAt(t, await serve(t, { ValidateStream: streaming(change) }));
    assertSound(await collected(guard.validateStream(PAYLOADS)), change.allowed);
  });
}

test('a stream that is not answered in time, and one without a guard', async (t) => {
  const silent = guardAt(t, await serve(t, { ValidateStream: (call) => void call.resume() }), { timeoutMs: 100 });
  const late = await collected(silent.validateStream(PAYLOADS));
  assert.deepEqual(
    late.map(({ code }) => code),
    Array(3).fill('DEADLINE_EXCEEDED'),
  );

  const nobody = guardAt(t, `unix:${scratch()}/nobody.sock`, { connectTimeoutMs: 50 });
  const away = [...(await collected(nobody.validateStream(PAYLOADS))), ...(await nobody.validateBatch(PAYLOADS)).items];
  assert.deepEqual(
    away.map(({ code }) => code),
    Array(6).fill('SERVICE_UNREACHABLE'),
  );
});

test('an item, or a tool call, that cannot be sent is a denial that names it', async (t) => {
  const guard = guardAt(t, 'unix:nobody.sock', { connectTimeoutMs: 50 });
  const table = [
    [[1], '/items'],
    [[{ code: 1, target: 'renderer' }], '/code'],
    [[{ code: '1', target: 'moon' }], '/target'],
    [[{ code: '1', target: 'renderer', sessionId: 's' }], '/items'],
  ];
  for (const [items, pointer] of table) {
    const { code, envelope } = await guard.validateBatch(items);
    assert.deepEqual([code, envelope.details.field], ['INVALID_INPUT', pointer]);
  }
  const calls = [
    [7, '{}', {}, '/tool'],
    ['t', {}, {}, '/arguments_json'],
    ['t', '{}', { runs: '/code' }, '/runs'],
    ['t', '{}', { sessionId: 1 }, '/session_id'],
    ['t', '{}', { judgedFieldsOnly: 1 }, '/judged_fields_only'],
  ];
  for (const [tool, sent, options, pointer] of calls) {
    const { code, envelope } = await guard.validateCall(tool, sent, options);
    assert.deepEqual([code, envelope.details.field], ['INVALID_INPUT', pointer]);
  }
  assert.match((await guard.validateCall('t', {}, {})).envelope.error, /arguments_json takes a string/);
});

const SENT = '{"code":"document.title","nested":["a b"],"other":1}';
const FIELDS = [
  { path: '/code', sha256: sha256('document.title') },
  { path: '/nested/0', sha256: sha256('a b') },
];

/** Answer a valid ALLOW of the call with the given change. */
function called(change, request) {
  const binding = { ...bindingOf(request), shape: 'SHAPE_EXPRESSION', ...change.binding };
  const envelope = Buffer.from(change.envelope ?? JSON.stringify({ ok: true, _meta: META }));
  return { binding, tool: change.tool ?? request.tool, fields: change.fields ?? FIELDS, allowed: {}, envelope };
}

const [first, second] = FIELDS;
const CALLS = [
  { name: 'another tool', tool: 'other', says: 'tool' },
  { name: 'no field judged', fields: [], says: 'not judged' },
  { name: 'one field of two', fields: [first], says: 'not judged' },
  { name: 'the hash of other text', fields: [{ ...first, sha256: '00' }, second], says: 'what was sent' },
  { name: 'a field that was not sent', fields: [first, second, { path: '/x', sha256: '0' }], says: 'among the arg' },
  { name: 'an inherited field', fields: [first, second, { path: '/toString', sha256: '0' }], says: 'among the arg' },
  { name: 'a leading zero', fields: [first, { ...second, path: '/nested/00' }], says: 'among the arguments' },
  { name: 'a path that is no pointer', fields: [{ ...first, path: 'code' }, second], says: 'JSON Pointer' },
  { name: 'a field that is no text', fields: [first, second, { path: '/other', sha256: '0' }], says: 'not text' },
  { name: 'another shape', binding: { shape: 'SHAPE_SCRIPT' }, says: 'shape' },
  { name: 'another target', binding: { target: 'TARGET_MAIN' }, says: 'target' },
  { name: 'no target', binding: { target: 0 }, says: 'target' },
  { name: 'the weak profile', binding: { profile: 'PROFILE_SEED' }, says: 'profile' },
  { name: 'no profile', binding: { profile: 0 }, says: 'profile' },
  { name: 'other arguments', binding: { code_hash: '00' }, says: 'payload' },
  { name: 'ok twice', envelope: '{"ok":false,"ok":true,"_meta":{}}', says: 'repeats' },
];
const INSISTED = /** @type {const} */ ({ runs: ['/code', '/nested/0'], target: 'renderer', shape: 'expression' });

test('a tool call and an item carry the key of a prepared page', async (t) => {
  const keys = [];
  const keep = (requests, done, reply) => {
    keys.push(...requests.map(({ prepared }) => prepared));
    done(null, reply);
  };
  const address = await serve(t, {
    ValidateCall: ({ request }, done) => keep([request], done, called({}, request)),
    ValidateBatch: ({ request }, done) => keep(request.items, done, batched({}, request)),
  });
  const guard = guardAt(t, address);
  await guard.validateCall('eval_page', SENT, { ...INSISTED, prepared: 'KEY' });
  await guard.validateBatch(
    ['1', '2'].map((code) => ({ code, target: 'renderer', ...(code === '1' && { prepared: 'KEY' }) })),
  );
  assert.deepEqual(keys, ['KEY', 'KEY', undefined]);
  const refused = await guard.validateCall('eval_page', SENT, /** @type {any} */ ({ prepared: 1 }));
  assert.equal(refused.code, 'INVALID_INPUT');
});

test('a tool call: a true ALLOW', async (t) => {
  const guard = guardAt(t, await serve(t, { ValidateCall: ({ request }, done) => done(null, called({}, request)) }));
  const decision = await guard.validateCall('eval_page', SENT, INSISTED);
  assert.equal(decision.allowed, true);
  assert.deepEqual(decision.judged, FIELDS);
  const twice = await guard.validateCall(
    'eval_page',
    '{"code":"document.title","code":"x","nested":["a b"]}',
    INSISTED,
  );
  assert.equal(twice.allowed, false);
});

for (const change of CALLS) {
  test(`a tool call: ${change.name}`, async (t) => {
    const answer = ({ request }, done) => done(null, called(change, request));
    const guard = guardAt(t, await serve(t, { ValidateCall: answer }));
    const decision = await guard.validateCall('eval_page', SENT, INSISTED);
    assert.equal(decision.allowed, false);
    assert.match(decision.envelope.error, new RegExp(change.says));
  });
}

test('a batch, a stream and a call of a real guard', { skip: missing('evalward') }, async (t) => {
  const guard = spawn({ allowEval: ['renderer'], auditLog: `${scratch()}/a.jsonl`, timeoutMs: 10_000 });
  t.after(() => guard.close());
  assert.ok(await guard.ready());

  const batch = await guard.validateBatch(PAYLOADS, { stopOnFirst: true });
  assert.deepEqual(
    batch.items.map(({ status }) => status),
    ['allowed', 'failed', 'skipped'],
  );
  assertSound(await collected(guard.validateStream(PAYLOADS)), [true, false, true]);
  assert.equal((await guard.validateCall('none', '{}')).code, 'TOOL_UNKNOWN');
});

const NAVIGATE = {
  name: 'navigate',
  operation_type: 'command',
  fields: { url: { kind: 'url' } },
  input_schema: {
    type: 'object',
    required: ['url', 'wait'],
    properties: { url: { type: 'string' }, wait: { type: 'number' } },
  },
};

test('a call with its judged fields alone, of a real guard', { skip: missing('evalward') }, async (t) => {
  const folder = scratch();
  const manifest = join(folder, 'manifest.json');
  writeFileSync(manifest, JSON.stringify({ api_version: 'evalward/v1', tools: [NAVIGATE] }));
  const guard = spawn({ flags: ['--manifest', manifest], auditLog: join(folder, 'a.jsonl'), timeoutMs: 10_000 });
  t.after(() => guard.close());
  assert.ok(await guard.ready());

  const asked = (url, judgedFieldsOnly) =>
    guard.validateCall('navigate', JSON.stringify({ url }), { runs: ['/url'], judgedFieldsOnly });
  const passed = await asked('https://example.com', true);
  assert.equal(passed.allowed, true, JSON.stringify(passed.envelope));
  assert.deepEqual(passed.judged, [{ path: '/url', sha256: sha256('https://example.com'), kind: 'url' }]);
  assert.equal((await asked('https://example.com', false)).code, 'MISSING_FIELD');
  assert.equal((await asked('javascript:1', true)).code, 'TOOL_URL_DENIED');
});
