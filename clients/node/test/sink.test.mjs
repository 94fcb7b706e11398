// Named sinks: in the request, in the binding, and never together with a target or shape.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeniedError, Guard, guarded } from 'evalward';
import { fakeService, trueAllow } from './service.mjs';

const SINK = 'playwright.evaluate';

async function guardOf(t, change = {}) {
  const asked = [];
  const answer = (rpc, request) => {
    asked.push(request);
    const allow = trueAllow(rpc, request);
    const binding = { ...allow.binding, target: 'TARGET_RENDERER', sink: request.sink, ...change };
    return { ...allow, binding };
  };
  const guard = new Guard({ address: (await fakeService(t, answer)).address, timeoutMs: 10_000 });
  t.after(() => guard.close());
  return { guard, asked };
}

test('the sink is asked about, without a target or a shape', async (t) => {
  const { guard, asked } = await guardOf(t);
  const run = guarded((code) => code, guard, { sink: SINK });

  assert.equal(await run('document.title'), 'document.title');
  const [{ sink, target, shape }] = asked;
  assert.equal(sink, SINK);
  assert.ok(target === undefined || target === 'TARGET_UNSPECIFIED');
  assert.equal(shape, undefined);
});

for (const change of [
  { sink: 'puppeteer.evaluate' },
  { sink: '' },
  { target: 'TARGET_UNSPECIFIED' },
  { shape: 'SHAPE_SCRIPT' },
]) {
  test(`a verdict about something else is a denial: ${JSON.stringify(change)}`, async (t) => {
    const { guard } = await guardOf(t, change);

    const decision = await guard.check('1', { sink: SINK });

    assert.equal(decision.allowed, false);
    assert.match(decision.envelope.error, /the verdict is about/);
  });
}

test('a verdict about a sink is none about a shape', async (t) => {
  const { guard } = await guardOf(t, { sink: SINK });

  assert.equal((await guard.check('1', { target: 'renderer', shape: 'script' })).allowed, false);
});

test('guarded() takes a sink, or a target and a shape', async (t) => {
  const { guard } = await guardOf(t);
  const run = (options) => guarded((code) => code, guard, options);

  for (const options of [{}, { target: 'renderer' }, { sink: SINK, shape: 'script' }, { sink: SINK, wrap: true }]) {
    assert.throws(() => run(/** @type {any} */ (options)), TypeError);
  }
  await assert.rejects(run(/** @type {any} */ ({ sink: '' }))('1'), DeniedError);
});
