// Hardened programs: only the program of the verdict counts, a guarded sink runs it, and a denial becomes an envelope.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import vm from 'node:vm';
import { DeniedError, Guard, guarded, spawn } from 'evalward';
import { fakeService, missing, POLICY_DIGEST, scratch, sha256, trueAllow } from './service.mjs';

// The same table holds for the client in Python: tests/client/test_hardened.py.
const TABLE = JSON.parse(readFileSync(new URL('../../../tests/data/client/hardened.json', import.meta.url), 'utf8'));
const { constructs } = JSON.parse(readFileSync(new URL('../constructs.json', import.meta.url), 'utf8'));
const skip = missing('evalward');
const CODE = 'document.title';
const PROGRAM = '(Prefix000000v=>(document.title))(0)';
const ABOUT = /** @type {const} */ ({ target: 'renderer', shape: 'expression' });
const DENIED = 'Page.evaluate: EvalwardDenied: evalward denied eval(): text cannot run\n    at <anonymous>:1:9';

/** Return an ALLOW with a program and the changes of a case. */
function hardenedAllow(rpc, request, change) {
  const reply = trueAllow(rpc, request);
  const program = Buffer.from(change.program ?? PROGRAM);
  const digest = sha256(change.rehash ? program : PROGRAM);
  const { bound = digest, stated = digest, shape = request.shape } = change;
  const { _meta } = JSON.parse(reply.envelope.toString());
  const about = stated === '' ? {} : { hardened: { sha256: stated } };
  reply.envelope = Buffer.from(JSON.stringify({ ok: true, ...about, _meta }));
  if (bound !== '') Object.assign(reply.binding, { hardened_hash: bound });
  if (change.carried ?? true) {
    const hardened = { program, sha256: change.sha256 ?? digest, sink: change.sink ?? '' };
    reply.allowed = /** @type {any} */ ({ hardened: shape === null ? hardened : { ...hardened, shape } });
  }
  return reply;
}

async function guardOf(t, change = {}) {
  const { address } = await fakeService(t, (rpc, request) => hardenedAllow(rpc, request, change));
  const guard = new Guard({ address, timeoutMs: 20_000, policyDigest: POLICY_DIGEST });
  t.after(() => guard.close());
  return guard;
}

const rejected = (promise) =>
  promise.then(
    () => assert.fail('it was not denied'),
    (failure) => failure,
  );

for (const { name, change, harden, allowed } of TABLE.replies) {
  test(`a verdict with ${name}`, async (t) => {
    const guard = await guardOf(t, change);

    const decision = await guard.check(CODE, { ...ABOUT, ...(harden !== null && { harden }) });

    assert.equal(decision.allowed, allowed);
    const runs = allowed && (change.carried ?? true);
    assert.equal('hardened' in decision ? decision.hardened : undefined, runs ? PROGRAM : undefined);
    assert.equal('hardenedHash' in decision ? decision.hardenedHash : undefined, runs ? sha256(PROGRAM) : undefined);
  });
}

test('an option that is neither true nor false is refused before it is sent', async (t) => {
  const guard = await guardOf(t);
  for (const harden of ['yes', 1, null]) {
    const options = /** @type {any} */ ({ ...ABOUT, harden });
    assert.equal((await guard.check(CODE, options)).code, 'INVALID_INPUT');
    assert.equal((await guard.evaluate(CODE, /** @type {any} */ ({ harden }))).code, 'INVALID_INPUT');
    assert.equal((await guard.validateCall('t', '{}', /** @type {any} */ ({ harden }))).code, 'INVALID_INPUT');
  }
});

/** Return a judge that allows with a program, and the reports that it gets. */
function judging(report = () => Promise.resolve({ recorded: true })) {
  const reports = [];
  const _meta = { decision_id: 'd1', session_id: 's1', provenance: { policy_digest: POLICY_DIGEST } };
  const allow = {
    ...{ allowed: true, code: null, codeHash: sha256(CODE), decisionId: 'd1', envelope: { ok: true, _meta } },
    ...{ hardened: PROGRAM, hardenedHash: sha256(PROGRAM) },
  };
  const judge = /** @type {any} */ ({
    check: () => Promise.resolve(allow),
    reportDenial: (...about) => (reports.push(about), report()),
  });
  return { judge, reports, allow };
}

for (const { text, construct } of TABLE.errors) {
  test(`a sink throws ${JSON.stringify(text.slice(0, 60))}`, async () => {
    for (const thrown of [new Error(text), text, new Error('the page threw', { cause: new Error(text) })]) {
      const { judge, reports } = judging();
      const failure = await rejected(guarded(() => Promise.reject(thrown), judge, ABOUT)(CODE));

      if (construct === null) assert.equal(failure, thrown);
      else assert.deepEqual([failure.code, failure.envelope.details.construct], ['EVAL_DENIED_AT_RUN_TIME', construct]);
      assert.deepEqual(reports, construct === null ? [] : [['d1', construct]]);
    }
  });
}

for (const { result, construct } of [...TABLE.results, { result: new Error(DENIED), construct: 'eval()' }]) {
  test(`a sink returns ${JSON.stringify(result).slice(0, 60)}`, async () => {
    const { judge, reports } = judging();
    const run = guarded(() => result, judge, ABOUT);

    if (construct === null) assert.equal(await run(CODE), result);
    else assert.equal((await rejected(run(CODE))).envelope.details.construct, construct);
    assert.equal(reports.length, construct === null ? 0 : 1);
  });
}

test('the denial of a run has the construct, its next actions and the decision', async () => {
  const { judge } = judging();

  const failure = await rejected(guarded(() => Promise.reject(new Error(DENIED)), judge, ABOUT)(CODE));

  assert.ok(failure instanceof DeniedError);
  const { envelope, decision } = failure;
  assert.deepEqual(envelope.details, {
    code_hash: sha256(CODE),
    hardened_hash: sha256(PROGRAM),
    construct: 'eval()',
    repairable: 'yes',
  });
  assert.deepEqual(envelope.next_actions, constructs.find(({ label }) => label === 'eval()').use_instead);
  const { audited, decision_id, session_id } = envelope._meta;
  assert.deepEqual({ audited, decision_id, session_id }, { audited: true, decision_id: 'd1', session_id: 's1' });
  assert.equal(envelope._meta.provenance.policy_digest, POLICY_DIGEST);
  assert.equal(decision.codeHash, sha256(CODE));
  assert.equal(failure.cause, undefined);
});

test('a member of process without a page has the next actions of its family', async () => {
  const { judge } = judging();
  const run = guarded(() => Promise.reject(new Error('evalward denied process.binding')), judge, ABOUT);
  const family = constructs.find(({ label }) => label === 'process.<member>');
  assert.deepEqual((await rejected(run(CODE))).envelope.next_actions, family.use_instead);
});

test('a report that fails changes nothing but that no record exists', async () => {
  const failing = [
    () => Promise.reject(new Error('away')),
    () => {
      throw new Error('fault');
    },
    () => Promise.resolve({ recorded: false }),
    () => Promise.resolve({ recorded: 'yes' }),
    () => Promise.resolve(undefined),
  ];
  for (const report of failing) {
    const { judge } = judging(/** @type {any} */ (report));
    const { envelope } = await rejected(guarded(() => Promise.reject(new Error(DENIED)), judge, ABOUT)(CODE));
    assert.deepEqual([envelope.code, envelope._meta.audited], ['EVAL_DENIED_AT_RUN_TIME', false]);
  }
  const { judge } = judging();
  delete judge.reportDenial;
  const { envelope } = await rejected(guarded(() => Promise.reject(new Error(DENIED)), judge, ABOUT)(CODE));
  assert.deepEqual([envelope.code, envelope._meta.audited], ['EVAL_DENIED_AT_RUN_TIME', false]);
});

test('the program runs inside the wrapper that the payload would have', async () => {
  const { judge } = judging();
  const options = /** @type {const} */ ({ target: 'renderer', shape: 'function', wrap: true });
  assert.equal(await guarded((script) => script, judge, options)(CODE), `(${PROGRAM}\n)()`);
});

test('a judge whose program is no text lets nothing run', async () => {
  const { judge, allow } = judging();
  let calls = 0;
  for (const hardened of [Buffer.from(PROGRAM), null, 1]) {
    judge.check = () => Promise.resolve({ ...allow, hardened });
    await assert.rejects(guarded(() => ++calls, judge, ABOUT)(CODE), TypeError);
  }
  assert.equal(calls, 0);
});

test("without a program, an error that tells a denial is the sink's own", async () => {
  const { judge, reports, allow } = judging();
  judge.check = () => Promise.resolve({ ...allow, hardened: undefined, hardenedHash: undefined });
  const thrown = new Error(DENIED);
  assert.equal(await rejected(guarded(() => Promise.reject(thrown), judge, ABOUT)(CODE)), thrown);
  assert.equal(
    await guarded(() => 'EvalwardDenied: evalward denied eval()', judge, ABOUT)(CODE),
    'EvalwardDenied: evalward denied eval()',
  );
  assert.deepEqual(reports, []);
});

async function real(t, ...flags) {
  const auditLog = join(scratch(), 'audit.jsonl');
  const guard = spawn({ allowEval: ['main', 'sandbox'], auditLog, timeoutMs: 20_000, connectTimeoutMs: 20_000, flags });
  t.after(() => guard.close());
  assert.ok(await guard.ready());
  const records = () =>
    readFileSync(auditLog, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  return { guard, records };
}

const MAIN = /** @type {const} */ ({ target: 'main', shape: 'expression' });
const HARMLESS = '[3, 4].map((n) => n * 2).join()';

test('a real guard: the program runs, and does what the payload does', { skip }, async (t) => {
  const { guard } = await real(t);
  const texts = [];
  const run = (options) =>
    guarded((text) => (texts.push(text), vm.runInNewContext(text)), guard, { ...MAIN, ...options })(HARMLESS);

  assert.equal(await run({}), '6,8');
  assert.equal(await run({ harden: true }), '6,8');
  assert.equal(await run({ harden: false }), '6,8');

  assert.ok(texts[0].length > 1_000 && texts[0] !== texts[1], 'each decision has a program of its own');
  assert.equal(texts[2], HARMLESS);
});

test('a real guard: what the program reaches for is denied, reported and in the log', { skip }, async (t) => {
  const { guard, records } = await real(t);
  // Nothing in the payload says what the host's function gives.
  const host = { pick: vm.runInNewContext('() => () => globalThis.reached = true') };
  const run = guarded((text) => vm.runInNewContext(text, host), guard, MAIN);

  const { code, envelope, decision } = await rejected(run('pick()()'));

  assert.deepEqual([code, envelope._meta.audited], ['EVAL_DENIED_AT_RUN_TIME', true]);
  const told = records().filter(({ kind }) => kind === 'run_time_denial');
  assert.deepEqual(
    told.map((each) => [each.decision_id, each.construct]),
    [[decision.decisionId, envelope.details.construct]],
  );
  const page = constructs.find(({ label }) => label === envelope.details.construct);
  assert.deepEqual(envelope.next_actions, page.use_instead);
});

test('a real guard: evaluations, batches, streams and tool calls', { skip }, async (t) => {
  const { guard } = await real(t);

  const answers = await Promise.all([
    guard.evaluate('1 + 1', { harden: true }),
    guard.evaluate('1 + 1', { harden: false }),
  ]);
  assert.deepEqual(
    answers.map(({ ok, hardenedHash }) => [ok, /^[0-9a-f]{64}$/.test(hardenedHash)]),
    [
      [true, true],
      [true, false],
    ],
  );

  const items = [
    { code: HARMLESS, ...MAIN, harden: true },
    { code: HARMLESS, ...MAIN },
    { code: 'process.exit()', ...MAIN },
  ];
  const hasProgram = (item) => [item.allowed, 'hardened' in item && item.hardened !== undefined];
  assert.deepEqual((await guard.validateBatch(items)).items.map(hasProgram), [
    [true, true],
    [true, false],
    [false, false],
  ]);
  const streamed = [];
  for await (const item of guard.validateStream(items)) streamed.push(hasProgram(item));
  assert.deepEqual(streamed, [
    [true, true],
    [true, true],
    [false, false],
  ]);

  const refused = await guard.check('with (a) b', { ...MAIN, harden: true });
  assert.equal(refused.allowed, false);
});

test('a report to a real guard', { skip }, async (t) => {
  const { guard, records } = await real(t);
  const { decisionId } = await guard.check(HARMLESS, MAIN);

  assert.equal((await guard.reportDenial(decisionId, 'eval()')).recorded, true);
  const unknown = await guard.reportDenial('nobodys', 'eval()');
  assert.deepEqual([unknown.recorded, unknown.envelope.ok], [false, false]);
  assert.equal((await guard.reportDenial('', 'eval()')).code, 'INVALID_INPUT');

  const told = records().filter(({ kind }) => kind === 'run_time_denial');
  assert.deepEqual(
    told.map(({ decision_id }) => decision_id),
    [decisionId],
  );
});
