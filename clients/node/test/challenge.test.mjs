// A token over plain TCP is never sent, and a machine in the middle cannot turn a denial into an ALLOW.
import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import * as grpc from '@grpc/grpc-js';
import { Guard } from 'evalward';
import { definition, fakeService, missing, realService, scratch, trueAllow } from './service.mjs';

const TOKEN = 'a-token-of-the-test-0123456789';
const GOOD = 'document.title';
const BAD = 'process.exit()';
const { Validate, ValidateStream } = definition['evalward.v1.GuardService'];
const skip = missing('evalward');
const same = (bytes) => bytes;

function guardAt(t, address, options = {}) {
  const guard = new Guard({ address, token: TOKEN, timeoutMs: 10_000, connectTimeoutMs: 10_000, ...options });
  t.after(() => guard.close());
  return guard;
}

async function guarding(t) {
  const file = join(scratch(), 'tokens');
  writeFileSync(file, `${TOKEN}\n`);
  chmodSync(file, 0o600);
  const { ready } = await realService(t, '--listen', '127.0.0.1:0', '--allow-eval=renderer', '--token-file', file);
  return ready.listen[0];
}

/** Proxy between the client and the guard at `upstream`, with changes to the messages. */
async function between(t, upstream, { unary = (relay) => relay(), stream = (reply) => [reply] }) {
  const recorded = [];
  const client = new grpc.Client(upstream, grpc.credentials.createInsecure());
  const server = new grpc.Server();
  const forwarded = ({ metadata }) => {
    recorded.push(metadata.getMap());
    const passed = new grpc.Metadata();
    for (const name of ['authorization', 'evalward-auth']) {
      for (const value of metadata.get(name)) passed.add(name, value);
    }
    return passed;
  };
  server.register(
    Validate.path,
    (call, done) => {
      const metadata = forwarded(call);
      const relay = (bytes = call.request) =>
        new Promise((resolve, reject) => {
          let response;
          const asked = client.makeUnaryRequest(Validate.path, same, same, bytes, metadata, (failure, reply) => {
            if (failure) reject(failure);
            else response = reply;
          });
          asked.on('status', (status) => resolve({ response, trailing: status.metadata }));
        });
      unary(relay).then(
        ({ response, trailing }) => done(null, response, trailing),
        (failure) => done(failure),
      );
    },
    same,
    same,
    'unary',
  );
  server.register(
    ValidateStream.path,
    (call) => {
      const asked = client.makeBidiStreamRequest(ValidateStream.path, same, same, forwarded(call));
      let index = 0;
      call.on('data', (bytes) => asked.write(bytes));
      call.on('end', () => asked.end());
      asked.on('data', (bytes) => {
        const replies = stream(bytes, index++);
        if (replies === undefined) call.end();
        else for (const reply of replies) call.write(reply);
      });
      asked.on('error', () => call.end());
      asked.on('end', () => call.end());
    },
    same,
    same,
    'bidi',
  );
  t.after(() => {
    client.close();
    server.forceShutdown();
  });
  const port = await new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (failure, bound) =>
      failure ? reject(failure) : resolve(bound),
    );
  });
  return { address: `127.0.0.1:${port}`, recorded };
}

async function streamed(guard) {
  const items = [];
  for await (const item of guard.validateStream([GOOD, BAD, GOOD].map((code) => ({ code, target: 'renderer' })))) {
    items.push(item);
  }
  return items;
}

test('a server that does not prove knowledge of the token gets neither the token nor an ALLOW', async (t) => {
  const recorded = [];
  const { address } = await fakeService(t, (rpc, request, call) => {
    recorded.push(call.metadata.getMap());
    return trueAllow(rpc, request);
  });

  const decision = await guardAt(t, address).check(BAD, { target: 'renderer' });
  const evaluation = await guardAt(t, address).evaluate(BAD);

  assert.equal(decision.allowed, false);
  assert.equal(decision.code, 'SERVICE_UNPROVEN');
  assert.equal(decision.envelope.retryable, false);
  assert.equal(evaluation.code, 'SERVICE_UNPROVEN');
  assert.equal(recorded.length, 2);
  assert.ok(!JSON.stringify(recorded).includes(TOKEN));
  assert.ok((await guardAt(t, address, { token: undefined }).check(BAD, { target: 'renderer' })).allowed);
});

test('a guard that knows the token is believed, and whoever relays does not learn it', { skip }, async (t) => {
  const { address, recorded } = await between(t, await guarding(t), {});
  const guard = guardAt(t, address);

  assert.equal((await guard.check(GOOD, { target: 'renderer' })).allowed, true);
  const denied = await guard.check(BAD, { target: 'renderer' });
  assert.equal(denied.code, 'EVAL_BLOCKED_KEYWORD');
  assert.deepEqual(
    (await streamed(guard)).map(({ allowed }) => allowed),
    [true, false, true],
  );
  assert.ok(recorded.every((metadata) => 'evalward-auth' in metadata && !('authorization' in metadata)));
  assert.ok(!JSON.stringify(recorded).includes(TOKEN));
});

test('another token is refused', { skip }, async (t) => {
  const guard = guardAt(t, await guarding(t), { token: 'another-token-of-the-test' });
  const { code, envelope } = await guard.check(GOOD, { target: 'renderer' });
  assert.equal(code, 'UNAUTHENTICATED');
  assert.match(envelope.hint, /another token/);
});

const attacks = {
  'the proven ALLOW of another request': () => {
    let first;
    return async (relay) => (first ??= await relay());
  },
  'a denial that became an ALLOW': () => async (relay) => {
    const { response, trailing } = await relay();
    const reply = Validate.responseDeserialize(response);
    if (reply.error) {
      delete reply.error;
      reply.allowed = {};
      const { _meta } = JSON.parse(reply.envelope.toString());
      reply.envelope = Buffer.from(JSON.stringify({ ok: true, _meta }));
    }
    return { response: Validate.responseSerialize(reply), trailing };
  },
  'a request that became another': () => (relay) =>
    relay(Validate.requestSerialize({ code: Buffer.from(GOOD), target: 'TARGET_RENDERER' })),
  'a second proof': () => async (relay) => {
    const { response, trailing } = await relay();
    trailing.add('evalward-proof', '0'.repeat(64));
    return { response, trailing };
  },
};

for (const [name, attack] of Object.entries(attacks)) {
  test(`a machine in the middle sends ${name}`, { skip }, async (t) => {
    const { address } = await between(t, await guarding(t), { unary: attack() });
    const guard = guardAt(t, address);
    await guard.check(GOOD, { target: 'renderer' });

    const decision = await guard.check(BAD, { target: 'renderer' });

    assert.equal(decision.allowed, false);
    assert.ok(['SERVICE_UNPROVEN', 'UNAUTHENTICATED'].includes(decision.code), decision.code);
  });
}

const streams = {
  'ends it behind the first': (reply, index) => (index === 0 ? [reply] : undefined),
  'sends the first one twice': (reply, index) => (index === 0 ? [reply, reply] : [reply]),
  'takes the proofs away': (reply) => [reply.subarray(0, -35)],
  'changes a reply': (reply, index) => {
    if (index === 0) return [reply];
    const message = ValidateStream.responseDeserialize(reply);
    return [ValidateStream.responseSerialize({ ...message, error: undefined, allowed: {}, status: 1 })];
  },
};

for (const [name, stream] of Object.entries(streams)) {
  test(`a machine in the middle intercepts a stream and ${name}`, { skip }, async (t) => {
    const { address } = await between(t, await guarding(t), { stream });
    const items = await streamed(guardAt(t, address));
    assert.deepEqual(
      items.slice(1).map(({ allowed }) => allowed),
      [false, false],
    );
  });
}
