// The page for Electron Stagewright: the real package with the page's tools, around a session that runs what it gets.
import assert from 'node:assert/strict';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { runInNewContext } from 'node:vm';
import { createServer, fnv1a32 } from '@electron-stagewright/core';
import { directory, missing } from './harness.mjs';

const HERE = fileURLToPath(new URL('..', import.meta.url));
const PAGE = readFileSync(join(HERE, '..', '..', 'docs', 'how-to', 'electron-stagewright.md'), 'utf8');
const [TOOLS] = [...PAGE.matchAll(/```js\n(.*?)```/gs)].map(([, text]) => text);

/** A session whose eval is that of Electron Stagewright 0.5.0, without an Electron: `ran` is what it was given. */
function session(ran) {
  const electronApp = { app: { getName: () => 'shop', exit: () => ran.push('exit') } };
  const evaluate = async (target, body, arg) => {
    ran.push(body);
    const script = `"use strict"; return (async () => { ${body} })()`;
    if (target === 'main') return Function('electronApp', 'arg', script)(electronApp, arg);
    return runInNewContext(`(function (arg) { ${script} })`)(arg); // a page is no Node
  };
  return { id: 'one', evaluate };
}

test('what the page puts around the eval tools lets pass what the guard allows', { skip: missing() }, async (t) => {
  const folder = directory();
  symlinkSync(join(HERE, 'node_modules'), join(folder, 'node_modules'));
  process.chdir(folder);
  const patient = TOOLS.replace('timeoutMs: 5000', 'timeoutMs: 60_000').replace("['renderer']", "['main', 'renderer']");
  writeFileSync('tools.mjs', patient);
  const { guard, tools } = await import(pathToFileURL(join(folder, 'tools.mjs')).href);
  t.after(() => guard.close());
  assert.equal(await guard.ready(), true);
  const server = await createServer({ allowEval: { main: true, renderer: true }, tools, logLevel: 'error' });
  const ran = [];
  const transport = { id: 'playwright', capabilities: { supportsMainEval: true, supportsRendererEval: true } };
  server.sessions.register(/** @type {any} */ (transport), /** @type {any} */ (session(ran)));
  const call = async (target, code, arg) => {
    ran.length = 0;
    return /** @type {any} */ (await server.dispatcher.dispatch(`electron_eval_${target}`, { code, arg }));
  };

  assert.equal((await call('renderer', 'return arg.prices.length', { prices: [1, 2] })).result, 2);
  assert.equal((await call('main', 'return electronApp.app.getName()')).result, 'shop');
  const { code, details } = await call('main', 'return arguments[0].app.getName()');
  assert.deepEqual([code, details.construct], ['EVAL_DENIED_AT_RUN_TIME', 'module-loading']);

  const escapes = [
    ['renderer', "return window['ev' + 'al'](arg)"],
    ['main', "return electronApp.app['ex' + 'it'](0)"],
    ['main', "return arguments[0].app['ex' + 'it'](0)"],
  ];
  for (const [target, code] of escapes) {
    const denied = await call(target, code);
    assert.deepEqual([denied.ok, denied.code, ran], [false, 'EVAL_BLOCKED_CONSTRUCT', []], code);
    assert.ok(denied.hint && denied._meta.decision_id);
  }

  const records = readFileSync('audit.jsonl', 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const hashes = records.filter(({ kind }) => kind === 'decision').map((record) => record.fnv1a32);
  assert.deepEqual(
    hashes.slice(-escapes.length),
    escapes.map(([, code]) => fnv1a32(code)),
  );
  const { outcome } = records.find((record) => record.fnv1a32 === fnv1a32('return electronApp.app.getName()'));
  assert.equal(outcome, 'allow');
});

test('the limit of the page is the limit of the tools', async () => {
  const server = await createServer({ allowEval: true, logLevel: 'error' });
  for (const target of ['main', 'renderer']) {
    const codes = [];
    for (const units of [100_000, 100_001]) {
      const code = `return 1; //${'€'.repeat(units - 12)}`;
      assert.equal(code.length, units);
      const answer = /** @type {any} */ (await server.dispatcher.dispatch(`electron_eval_${target}`, { code }));
      codes.push(answer.code);
    }
    assert.deepEqual(codes, ['NOT_RUNNING', 'BAD_ARGUMENT']);
  }
});
