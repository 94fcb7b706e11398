// An agent's payload reaches Chromium if and only if the guard allowed it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CLIENTS, connect, directory, missing, SERVERS, startBrowser, startGuard } from './harness.mjs';

const skip = missing();

const ESCAPES = [
  "window['ev' + 'al']('window.reached = 1')",
  "(() => {}).constructor('window.reached = 1')()",
  "import('data:text/javascript,window.reached = 1')",
  "setTimeout('window.reached = 1')",
  "{}/\"/-window['ev' + 'al']('window.reached = 1')//\"/1",
  '1); (() => { window.reached = 1 })(); (1',
  'document.body.innerHTML = \'<img src=x onerror="window.reached = 1">\'',
  'window.reached = 1; "\ud800"',
];

/** @type {Awaited<ReturnType<typeof startGuard>>} */
let guard;
/** @type {Awaited<ReturnType<typeof startBrowser>>} */
let browser;

/** @type {(() => Promise<void>)[]} */
const endings = [];

before(async () => {
  const shared = { after: (ending) => endings.push(ending) };
  if (!skip) [guard, browser] = await Promise.all([startGuard(shared), startBrowser(shared)]);
});
after(() => Promise.all(endings.map((end) => end())));

const env = (at = guard) => ({ EVALWARD_ADDRESS: at.address, CHROMIUM_ENDPOINT: browser.endpoint });

function assertDenied(result, code) {
  assert.equal(result.isError, true);
  const envelope = result.structuredContent;
  assert.equal(envelope.ok, false);
  if (code) assert.equal(envelope.code, code);
  const [{ type, text }] = result.content;
  assert.equal(type, 'text');
  assert.ok(text.startsWith(`${envelope.code}: `) && !text.includes(envelope.hint), 'text is what a model sees');
  for (const action of envelope.next_actions ?? []) assert.ok(text.includes(action));
}

/** Assert that `script` is the hardened program of a payload, and not the payload. */
function assertProgram(script) {
  assert.ok(
    /^\(\(\)=>\{const \{[A-Za-z0-9:,]+\}=/.test(script) && script.includes('evalward denied '),
    script.slice(0, 99),
  );
}

/** Return the tools' present descriptions by Evalward, by their names. */
function described() {
  const manifest = fileURLToPath(new URL('../manifest.yaml', import.meta.url));
  const flags = ['--json-schema', '--manifest', manifest, '--allow-eval=renderer,sandbox'];
  const { tools } = JSON.parse(execFileSync('evalward', ['tools', ...flags], { encoding: 'utf8' }));
  for (const { description } of tools) assert.match(description, /Errors: .*EVAL_\{?BLOCKED_KEYWORD/);
  return Object.fromEntries(tools.map(({ name, description }) => [name, description]));
}

async function value(mcp, code) {
  const result = await mcp.call('eval_renderer', { code });
  assert.ok(!result.isError, result.content[0].text);
  return JSON.parse(result.content[0].text);
}

for (const server of SERVERS) {
  for (const client of CLIENTS) {
    test(`${server}, ${client}: an escape never reaches Chromium, a benign payload does`, { skip }, async (t) => {
      const mcp = await connect(t, client, server, env());
      const tools = (await mcp.list()).map((tool) => [tool.name, tool.description]);
      assert.deepEqual(Object.fromEntries(tools), described());

      assert.equal(await value(mcp, 'document.title'), 'Shop');
      const before = (await browser.compiled()).length;
      for (const code of ESCAPES) assertDenied(await mcp.call('eval_renderer', { code }));
      const prices = "[...document.querySelectorAll('li')].map((item) => Number(item.dataset.price))";
      assert.deepEqual(await value(mcp, prices), [3, 4]);

      const compiled = await browser.compiled();
      assert.equal(compiled.length, before + 1);
      for (const script of compiled.slice(before - 1)) assertProgram(script);
      assert.equal(await value(mcp, 'typeof window.reached'), 'undefined');
    });

    test(`${server}, ${client}: with the guard killed everything is denied`, { skip }, async (t) => {
      const mortal = await startGuard(t);
      const mcp = await connect(t, client, server, env(mortal));
      assert.equal(await value(mcp, 'document.title'), 'Shop');
      const before = (await browser.compiled()).length;

      await mortal.kill();
      // The connection may break during the first call; later calls have none.
      const first = await mcp.call('eval_renderer', { code: 'document.title' });
      assertDenied(first);
      for (const name of ['eval_renderer', 'eval_sandbox']) {
        const result = await mcp.call(name, { code: '() => 1' });
        assertDenied(result, 'SERVICE_UNREACHABLE');
        assert.equal(result.structuredContent.retryable, true);
        assert.match(result.structuredContent.error, /guard/);
      }
      assert.deepEqual((await browser.compiled()).slice(before), []);
    });
  }

  test(`${server}: with a guard and a browser of its own`, { skip }, async (t) => {
    const own = { EVALWARD_ADDRESS: '', CHROMIUM_ENDPOINT: '', XDG_STATE_HOME: directory() };
    const mcp = await connect(t, 'client 2.x', server, own);
    assert.equal(await value(mcp, 'document.title'), 'Shop');
    for (const code of ESCAPES) assertDenied(await mcp.call('eval_renderer', { code }));
    assert.equal(await value(mcp, 'typeof window.reached'), 'undefined');
  });

  test(`${server}: what the page throws, and what never ends, is a result`, { skip }, async (t) => {
    const mcp = await connect(t, 'client 2.x', server, env());
    for (const code of ['throw new RangeError("too far")', 'for (;;) {}']) {
      const result = await mcp.call('eval_renderer', { code });
      assert.equal(result.isError, true, code);
    }
    assert.equal(await value(mcp, 'document.title'), 'Shop');
  });

  test(`${server}: the sandbox returns values and errors`, { skip }, async (t) => {
    const mcp = await connect(t, 'client 2.x', server, env());
    const sum = { code: '(prices) => prices.reduce((a, b) => a + b)', argument: [3, 4] };
    const result = await mcp.call('eval_sandbox', sum);
    assert.ok(!result.isError, result.content[0].text);
    assert.equal(result.structuredContent.result_json, '7');
    assertDenied(await mcp.call('eval_sandbox', { code: 'null.x' }), 'EVAL_RUNTIME_ERROR');
    assertDenied(await mcp.call('eval_sandbox', { code: "globalThis['ev' + 'al']('1')" }), 'EVAL_BLOCKED_CONSTRUCT');
  });
}
