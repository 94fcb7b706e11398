// The guarded sink: it runs exactly the judged text, or nothing.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { DeniedError, Guard, guarded, inShape, toCallToolResult } from 'evalward';
import { fakeService, trueAllow } from './service.mjs';

const blocked = {
  ok: false,
  code: 'EVAL_BLOCKED_CONSTRUCT',
  error: 'The payload reaches process.exit.',
  hint: 'Remove the blocked construct.',
  next_actions: ['Rewrite it.', 'Use another tool.'],
  _meta: { decision_id: 'd1', provenance: { policy_digest: 'a'.repeat(64) } },
};

function answer(rpc, request) {
  const allow = trueAllow(rpc, request);
  if (!request.code.includes('process')) return allow;
  return { binding: allow.binding, error: { code: blocked.code }, envelope: Buffer.from(JSON.stringify(blocked)) };
}

async function guardOf(t) {
  const guard = new Guard({ address: (await fakeService(t, answer)).address, timeoutMs: 10_000 });
  t.after(() => guard.close());
  return guard;
}

test('the sink gets the text that was allowed, and its own arguments', async (t) => {
  const calls = [];
  const run = guarded(
    (code, ...rest) => {
      calls.push([code, ...rest]);
      return Promise.resolve('value');
    },
    await guardOf(t),
    { target: 'renderer', shape: 'script' },
  );

  assert.equal(await run('1 + 1', 'page', 7), 'value');
  assert.deepEqual(calls, [['1 + 1', 'page', 7]]);
});

test('a profile is asked for: an ALLOW under the weak one counts only then', async (t) => {
  const { address } = await fakeService(t, (rpc, request) => {
    const allow = trueAllow(rpc, request);
    return { ...allow, binding: { ...allow.binding, profile: 'PROFILE_SEED' } };
  });
  const guard = new Guard({ address, timeoutMs: 10_000 });
  t.after(() => guard.close());
  const about = /** @type {const} */ ({ target: 'renderer', shape: 'script' });

  assert.equal(await guarded((code) => code, guard, { ...about, profile: 'seed' })('1'), '1');
  await assert.rejects(guarded((code) => code, guard, about)('1'), DeniedError);
});

test('a denial rejects with its envelope, and the sink is not called', async (t) => {
  let calls = 0;
  const run = guarded(() => ++calls, await guardOf(t), { target: 'renderer', shape: 'script' });
  for (const payload of ['process.exit()', '\ud800', undefined, { toString: () => '1' }]) {
    await assert.rejects(run(payload), (failure) => {
      assert.ok(failure instanceof DeniedError);
      assert.equal(failure.envelope.ok, false);
      assert.equal(failure.code, failure.envelope.code);
      assert.ok(!failure.message.includes('process.exit()'));
      return true;
    });
  }
  assert.equal(calls, 0);
});

test('options that are changed later change nothing', async (t) => {
  const targets = [];
  const { address } = await fakeService(t, (rpc, request) => {
    targets.push(request.target);
    return trueAllow(rpc, request);
  });
  const guard = new Guard({ address, timeoutMs: 10_000 });
  t.after(() => guard.close());
  const options = {
    target: /** @type {'renderer' | 'sandbox'} */ ('renderer'),
    shape: /** @type {const} */ ('script'),
  };
  const run = guarded((code) => code, guard, options);
  options.target = 'sandbox';
  await run('1');
  assert.deepEqual(targets, ['TARGET_RENDERER']);
});

test('a judge that throws, or answers something that is only truthy, allows nothing', async () => {
  let calls = 0;
  const judges = [
    { check: () => Promise.reject(new Error('fault')) },
    { check: () => Promise.resolve({ allowed: 'yes', code: 'X', envelope: blocked }) },
    { check: () => Promise.resolve(undefined) },
  ];
  for (const judge of judges) {
    await assert.rejects(guarded(() => ++calls, /** @type {any} */ (judge), { target: 'main', shape: 'script' })('1'));
  }
  assert.equal(calls, 0);
});

test('a decision cannot be changed', async (t) => {
  const decision = await (await guardOf(t)).check('process.exit()', { target: 'renderer' });
  assert.throws(() => {
    /** @type {any} */ (decision).allowed = true;
  }, TypeError);
});

test('each shape is written as the guard parses it', () => {
  const shapes = JSON.parse(readFileSync(new URL('data/shapes.json', import.meta.url), 'utf8'));
  for (const [shape, text] of Object.entries(shapes)) assert.equal(inShape('f // x', /** @type {any} */ (shape)), text);
});

test('a sink that evaluates scripts gets the text in the wrapper that was judged', async (t) => {
  const options = /** @type {const} */ ({ target: 'renderer', shape: 'function', wrap: true });
  assert.equal(await guarded((script) => script, await guardOf(t), options)('() => 1'), '(() => 1\n)()');
});

test('a sink without a shape is refused at once', async (t) => {
  const guard = await guardOf(t);
  for (const shape of [undefined, 'round', 'toString']) {
    assert.throws(() => guarded(() => 1, guard, /** @type {any} */ ({ target: 'renderer', shape })), TypeError);
  }
});

test("what the sink throws is the caller's to see", async (t) => {
  const failure = new RangeError('too far');
  const run = guarded(() => Promise.reject(failure), await guardOf(t), { target: 'renderer', shape: 'script' });
  await assert.rejects(run('1'), (thrown) => thrown === failure);
});

test('a tool result is made of an envelope, or of anything that holds one', async (t) => {
  const guard = await guardOf(t);
  const decision = /** @type {any} */ (await guard.check('process.exit()', { target: 'renderer' }));
  const results = [decision, decision.envelope, new DeniedError(decision)].map(toCallToolResult);
  for (const result of results) {
    assert.deepEqual(result, results[0]);
    assert.equal(result.isError, true);
    assert.deepEqual(result.structuredContent, blocked);
    const [advice] = result.content[0].text.split('\n\n');
    assert.ok(blocked.next_actions.every((action) => advice.includes(action)));
    assert.ok(!advice.includes(blocked.hint));
  }
  assert.equal(toCallToolResult(await guard.check('1', { target: 'renderer' })).isError, false);
  assert.throws(() => toCallToolResult(/** @type {any} */ ({ envelope: { ok: 'yes' } })), TypeError);
});
