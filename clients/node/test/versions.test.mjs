// A client and a service one version apart: new fields are ignored if that is safe, else the client denies.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Metadata, Server, ServerCredentials, status } from '@grpc/grpc-js';
import { Guard, toCallToolResult } from 'evalward';
import {
  definition,
  fakeService,
  POLICY_DIGEST,
  richStatus,
  RPCS,
  serialised,
  trueAllow,
  withField,
} from './service.mjs';

// The same table holds for the clients in Python: tests/client/test_versions.py.
const TABLE = JSON.parse(readFileSync(new URL('../../../tests/data/client/versions.json', import.meta.url), 'utf8'));
const CODE = 'document.title';
const DECLARED = { shape: 'expression', profile: 'strict' };
const LATER_FIELD = Buffer.from('a00601', 'hex'); // number 100, a varint
const METHODS = { check: 'Validate', evaluate: 'Evaluate' };

function guardAt(t, address) {
  const guard = new Guard({ address, timeoutMs: 30_000, connectTimeoutMs: 30_000, policyDigest: POLICY_DIGEST });
  t.after(() => guard.close());
  return guard;
}

function ask(guard, rpc) {
  return rpc === 'check' ? guard.check(CODE, { target: 'renderer', ...DECLARED }) : guard.evaluate(CODE, DECLARED);
}

const isAllowed = (answer) => ('allowed' in answer ? answer.allowed : answer.ok);

/** Return the answer of `change`: a message's bytes, or a status. */
function answered(rpc, request, change) {
  const reply = trueAllow(rpc, request);
  Object.assign(reply.binding, change.binding);
  const envelope = JSON.parse(reply.envelope.toString());
  Object.assign(envelope._meta, change.meta);
  Object.assign(envelope, change.envelope);
  let outcome = ['allowed', rpc === 'check' ? 'Allowed' : 'Evaluated', 2];
  if (change.denial !== undefined) {
    Object.assign(envelope, { ok: false, code: change.denial, error: 'It may not run.', hint: 'Change it.' });
    delete reply.allowed;
    reply.error = { code: change.denial };
    outcome = ['error', 'Error', 3];
  }
  if (change.status) {
    const metadata = new Metadata();
    metadata.set('grpc-status-details-bin', richStatus(envelope));
    return { code: status.UNAVAILABLE, details: 'no', metadata };
  }
  const [arm, message, number] = outcome;
  const later = (part) => (change.unknown_in?.includes(part) ? LATER_FIELD : Buffer.alloc(0));
  const part = (name, type, value) => Buffer.concat([definition[`evalward.v1.${type}`].serialize(value), later(name)]);
  return Buffer.concat([
    withField(1, part('binding', 'VerdictBinding', reply.binding)),
    withField(number, part('outcome', message, reply[arm])),
    withField(4, Buffer.from(JSON.stringify(envelope))),
    later('reply'),
  ]);
}

for (const rpc of RPCS) {
  for (const change of TABLE.answers) {
    test(`${rpc}: ${change.name}`, async (t) => {
      const { address } = await fakeService(t, (_, request) => answered(rpc, request, change));

      const answer = await ask(guardAt(t, address), rpc);

      assert.equal(isAllowed(answer), change.allowed ?? false);
      assert.equal(answer.envelope.ok, change.allowed ?? false);
      if (!change.allowed) {
        assert.equal(answer.code, change.code ?? 'INTERNAL');
        assert.match(answer.envelope.error, new RegExp(change.says ?? ''));
      }
      for (const [name, value] of Object.entries(change.envelope ?? {})) assert.deepEqual(answer.envelope[name], value);
      assert.equal(toCallToolResult(answer).isError, !change.allowed);
    });
  }

  for (const field of TABLE.ignored.fields) {
    test(`${rpc}: an older service ignores ${field}`, async (t) => {
      const { address } = await fakeService(t, (_, request) => {
        const reply = trueAllow(rpc, request);
        delete reply.binding[field];
        return reply;
      });

      assert.equal(isAllowed(await ask(guardAt(t, address), rpc)), false);
    });
  }

  test(`${rpc}: an RPC that an older service does not have is a denial`, async (t) => {
    const other = RPCS.find((each) => each !== rpc);
    const { [METHODS[other]]: description } = definition['evalward.v1.GuardService'];
    const server = new Server();
    server.addService(
      { [METHODS[other]]: { ...description, responseSerialize: (bytes) => bytes } },
      { [METHODS[other]]: (call, done) => done(null, serialised(other, trueAllow(other, call.request))) },
    );
    t.after(() => server.forceShutdown());
    const port = await new Promise((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (failure, bound) =>
        failure ? reject(failure) : resolve(bound),
      );
    });
    const guard = guardAt(t, `127.0.0.1:${port}`);

    const lacked = await ask(guard, rpc);

    assert.equal(isAllowed(lacked), false);
    assert.equal(lacked.code, 'INTERNAL');
    assert.equal(lacked.envelope.details.grpc_status, 'UNIMPLEMENTED');
    assert.equal(lacked.envelope.retryable, false);
    assert.equal(isAllowed(await ask(guard, other)), true);
  });
}
