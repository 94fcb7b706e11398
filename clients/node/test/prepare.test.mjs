// Prepared pages: what `prepare` asks of a page, and real drivers against the real service.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { DeniedError, Guard, guarded, prepare, PrepareError } from 'evalward';
import { fakeService, missing, realService } from './service.mjs';

const drivers = new URL('../../../tests/sinks/drivers/', import.meta.url);
const chromium = spawnSync('which', ['chromium'], { encoding: 'utf8' }).stdout.trim();
const lacking = !chromium || !existsSync(new URL('node_modules', drivers)) ? 'no chromium or no drivers' : false;
const skip = missing('evalward') || lacking;
const args = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];
const PAGE =
  'data:text/html,<title>T</title><script>Reflect.apply = null</script><iframe srcdoc="<title>in</title>"></iframe>';
const REPLY = /** @type {const} */ ({ code: null, script: 'SCRIPT', key: 'KEY', version: 'V' });

const load = (name) => createRequire(drivers)(name);
const DRIVERS = [
  [
    'playwright',
    'playwright.evaluate',
    () => load('playwright-core').chromium.launch({ executablePath: chromium, args }),
  ],
  [
    'puppeteer',
    'puppeteer.evaluate',
    () => load('puppeteer-core').launch({ executablePath: chromium, args, headless: true }),
  ],
];

const rejected = (promise) =>
  promise.then(
    () => assert.fail('it was not denied'),
    (failure) => failure,
  );

for (const [name, sink, launch] of DRIVERS) {
  test(`a page of ${name}`, { skip }, async (t) => {
    const service = await realService(t, '--listen', '127.0.0.1:0', '--allow-eval=renderer');
    const guard = new Guard({ address: service.ready.listen[0], timeoutMs: 20_000, connectTimeoutMs: 20_000 });
    t.after(() => guard.close());
    const browser = await launch();
    t.after(() => browser.close());
    const page = await browser.newPage();
    const texts = [];
    const prepared = await prepare(page, guard);
    const sinkOf = (where) =>
      guarded(
        (text) => {
          texts.push(text);
          return where.evaluate(text);
        },
        guard,
        { sink, harden: true, prepared },
      );

    await page.evaluate('void (document.title = "open")');
    assert.equal(await sinkOf(page)('document.title'), 'open');
    await page.goto(PAGE);
    const titles = await Promise.all(page.frames().map((frame) => sinkOf(frame)('document.title')));
    assert.deepEqual(titles, ['T', 'in']);
    assert.ok(texts.every((text) => text.length < 4096));

    const other = await browser.newPage();
    const denial = await rejected(sinkOf(other)('document.title = "ran"'));
    assert.ok(denial instanceof DeniedError);
    assert.equal(denial.envelope.code, 'EVAL_DENIED_AT_RUN_TIME');
    assert.equal(denial.envelope.details.construct, 'prototype-tampering');
    assert.equal(await other.evaluate('document.title'), '');
    const [, property, secret] = prepared.key.split('.');
    const log = readFileSync(service.log, 'utf8');
    assert.ok(![property, secret.slice(0, 32), secret.slice(32)].some((part) => log.includes(part)));
  });
}

test('the script goes into later documents and into what is open', async () => {
  const done = [];
  const frame = (what) => ({ evaluate: async (script) => done.push(`${what} ${script}`) });
  const guard = { prepareRuntime: async () => /** @type {any} */ (REPLY) };
  const page = { frames: () => [frame('top'), frame('inner')] };
  const playwright = { ...page, addInitScript: async ({ content }) => done.push(`init ${content}`) };
  const puppeteer = { ...page, evaluateOnNewDocument: async (script) => done.push(`init ${script}`) };
  const context = { addInitScript: playwright.addInitScript, pages: () => [page] };

  for (const each of [playwright, puppeteer, context]) {
    assert.deepEqual(await prepare(each, guard), { key: 'KEY', version: 'V' });
    assert.deepEqual(done.splice(0), ['init SCRIPT', 'top SCRIPT', 'inner SCRIPT']);
  }
});

test('a service that is older, or not there, leaves the page as it is', async (t) => {
  const page = { addInitScript: async () => assert.fail('the page was changed'), frames: () => [] };
  const { address } = await fakeService(t, () => undefined);
  for (const [at, says] of [
    [address, /older than this client/],
    ['127.0.0.1:1', /cannot be reached/],
  ]) {
    const guard = new Guard({ address: /** @type {string} */ (at), timeoutMs: 5_000, connectTimeoutMs: 500 });
    t.after(() => guard.close());
    const failure = await rejected(prepare(page, guard));
    assert.ok(failure instanceof PrepareError);
    assert.match(failure.message, /** @type {RegExp} */ (says));
  }
});
