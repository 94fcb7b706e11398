// Against the real `evalward serve`.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Guard } from 'evalward';
import { missing, realService, scratch, sha256 } from './service.mjs';

const skip = missing('evalward');
const ESCAPE = "() => window['ev' + 'al']('1')";
const PATIENT = { timeoutMs: 20_000, connectTimeoutMs: 20_000 };

async function served(t, ...flags) {
  const listen = flags.includes('--listen') ? [] : ['--listen', '127.0.0.1:0'];
  const service = await realService(t, ...listen, ...flags);
  const guard = new Guard({ address: service.ready.listen[0], ...PATIENT });
  t.after(() => guard.close());
  return { ...service, guard };
}

test('an allow, a block, and what the audit log says of them', { skip }, async (t) => {
  const { guard, log } = await served(t, '--allow-eval=renderer');
  assert.equal(await guard.ready(), true);

  for (const shape of [undefined, 'function']) {
    const allowed = await guard.check('() => document.title', { target: 'renderer', ...(shape && { shape }) });
    assert.equal(allowed.allowed, true, JSON.stringify(allowed.envelope));
    assert.equal(allowed.codeHash, sha256('() => document.title'));
  }
  const blocked = await guard.check(ESCAPE, { target: 'renderer', shape: 'function' });
  assert.equal(blocked.allowed, false);
  assert.equal(blocked.code, 'EVAL_BLOCKED_CONSTRUCT');

  const records = readFileSync(log, 'utf8').trim().split('\n').map(JSON.parse);
  const record = records.find(({ decision_id }) => decision_id === blocked.decisionId);
  assert.ok(record.code_hash.endsWith(sha256(ESCAPE)));
});

test('every target that is not opted in is denied', { skip }, async (t) => {
  const { guard } = await served(t, '--allow-eval=renderer');
  for (const target of /** @type {const} */ (['main', 'node', 'sandbox'])) {
    assert.equal((await guard.check('1', { target })).code, 'EVAL_TARGET_DENIED');
  }
  assert.equal((await guard.evaluate('1')).code, 'EVAL_TARGET_DENIED');
});

test('what the service refuses comes back as its own envelope', { skip }, async (t) => {
  const { guard } = await served(t, '--allow-eval=renderer');
  const table = /** @type {const} */ ([
    [{ profile: 'seed' }, 'STRICT_CONSTANT_OVERRIDE'],
    [{ limits: { steps: 2 ** 52 } }, 'STRICT_CONSTANT_OVERRIDE'],
    [{ sessionId: 'no spaces here' }, 'INVALID_INPUT'],
  ]);
  for (const [options, code] of table) {
    const decision = await guard.check('1', { target: 'renderer', ...options });
    assert.equal(decision.allowed, false);
    assert.equal(decision.code, code);
    assert.notEqual(decision.decisionId, '');
  }
});

test('a policy digest that is pinned', { skip }, async (t) => {
  const { guard, ready } = await served(t, '--allow-eval=renderer');
  const { envelope } = await guard.check('1', { target: 'renderer' });
  const digest = envelope._meta.provenance.policy_digest;
  for (const [policyDigest, allowed] of [
    [digest, true],
    ['0'.repeat(64), false],
  ]) {
    const pinned = new Guard({ address: ready.listen[0], policyDigest, ...PATIENT });
    t.after(() => pinned.close());
    assert.equal((await pinned.check('1', { target: 'renderer' })).allowed, allowed);
  }
});

test('over a Unix socket', { skip }, async (t) => {
  const { guard } = await served(t, '--allow-eval=renderer', '--listen', `unix:${join(scratch(), 's')}`);
  assert.equal((await guard.check('1', { target: 'renderer' })).allowed, true);
});

test('the sandbox: a result, console lines, an argument, undefined, and an error', { skip }, async (t) => {
  const { guard } = await served(t, '--allow-eval=sandbox');
  const limits = { deadline_ms: 1_000 };
  const run = await guard.evaluate('(prices) => { console.log("sum"); return prices.reduce((a, b) => a + b) }', {
    argument: [1, 2, 3],
    shape: 'function',
    seed: 7,
    limits,
  });
  assert.equal(run.ok, true, JSON.stringify(run.envelope));
  assert.equal(run.ok && run.resultJson, '6');
  assert.deepEqual(run.console, ['sum']);
  assert.ok(Number(run.usage?.fuel) > 0);

  const nothing = await guard.evaluate('undefined');
  assert.equal(nothing.ok, true);
  assert.ok(!('resultJson' in nothing));

  const thrown = await guard.evaluate('console.log("before"); null.x');
  assert.equal(thrown.code, 'EVAL_RUNTIME_ERROR');
  assert.deepEqual(thrown.console, ['before']);

  assert.equal((await guard.evaluate("globalThis['ev' + 'al']('1')")).code, 'EVAL_BLOCKED_CONSTRUCT');
});

test('a service that is killed denies, and one that is back on the same socket allows', { skip }, async (t) => {
  const at = ['--allow-eval=renderer', '--listen', `unix:${join(scratch(), 's')}`];
  const { guard, kill, ready } = await served(t, ...at);
  assert.equal((await guard.check('1', { target: 'renderer' })).allowed, true);
  await kill();
  const hasty = new Guard({ address: ready.listen[0], connectTimeoutMs: 200 });
  t.after(() => hasty.close());
  const denied = await hasty.check('1', { target: 'renderer' });
  assert.equal(denied.code, 'SERVICE_UNREACHABLE');
  assert.equal(denied.envelope.retryable, true);

  await realService(t, ...at);
  assert.equal(await guard.ready(), true);
  assert.equal((await guard.check('1', { target: 'renderer' })).allowed, true);
});
