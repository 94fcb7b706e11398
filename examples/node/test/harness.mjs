// A real guard, a real Chromium whose every compiled script is seen, and a real MCP client of either generation.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { chromium, launch } from '../browser.mjs';

export const SERVERS = ['server.mjs', 'server-v1.mjs'];
export const CLIENTS = /** @type {const} */ (['client 2.x', 'client 1.x']);

/** Return a reason to skip, else false; with EVALWARD_TESTS_REQUIRE_ALL set, as in CI, nothing may be missing. */
export function missing() {
  const absent = [
    ...(spawnSync('evalward', ['--version']).error ? ['evalward'] : []),
    ...(chromium() === undefined ? ['chromium'] : []),
  ];
  if (absent.length === 0) return false;
  if (process.env.EVALWARD_TESTS_REQUIRE_ALL) throw new Error(`${absent.join(', ')} must be installed here`);
  return `${absent.join(', ')} is not installed`;
}

const scratch = mkdtempSync(join(tmpdir(), 'evalward-example-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));

/** Return a directory that is removed when this process ends. */
export const directory = () => mkdtempSync(join(scratch, 'state-'));

/** Start a real `evalward serve`. */
export async function startGuard(t) {
  const flags = ['--allow-eval=renderer,sandbox', '--listen', '127.0.0.1:0', '--audit-log', join(directory(), 'log')];
  const child = spawn('evalward', ['serve', ...flags], { stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  t.after(kill);
  const line = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve);
    child.once('error', reject);
    child.once('close', (code) => reject(new Error(`evalward serve ended with ${code}`)));
  });
  return { address: JSON.parse(line).listen[0], kill };
}

const BARRIER = '/* barrier */';

/** Start a Chromium; `compiled()` is the text of every script that its page has been given so far. */
export async function startBrowser(t) {
  const browser = await launch();
  t.after(() => browser.close());
  const [page] = await browser.pages();
  const session = await page.createCDPSession();
  /** @type {Promise<string>[]} */
  const sources = [];
  session.on('Debugger.scriptParsed', ({ scriptId }) => {
    const source = session.send('Debugger.getScriptSource', { scriptId });
    sources.push(
      source.then(
        ({ scriptSource }) => scriptSource,
        () => 'a script that cannot be read',
      ),
    );
  });
  await session.send('Debugger.enable');
  return {
    endpoint: browser.wsEndpoint(),
    page,
    async compiled() {
      // The page runs one script after another: what was compiled before this one has been reported with it.
      await session.send('Runtime.evaluate', { expression: BARRIER });
      return (await Promise.all(sources)).filter((source) => source !== BARRIER);
    },
  };
}

/** Start one of the example servers as the child of a real MCP client. */
export async function connect(t, kind, server, env) {
  const options = {
    command: process.execPath,
    args: [fileURLToPath(new URL(`../${server}`, import.meta.url))],
    env: { ...process.env, ...env },
    stderr: /** @type {const} */ ('ignore'),
  };
  const about = { name: 'evalward-test', version: '0.0.0' };
  const client = kind === 'client 1.x' ? new ClientV1(about) : new ClientV2(about);
  await client.connect(/** @type {any} */ (kind === 'client 1.x' ? new StdioV1(options) : new StdioV2(options)));
  t.after(() => client.close());
  return {
    list: async () => (await client.listTools()).tools,
    call: async (name, args) => /** @type {any} */ (await client.callTool({ name, arguments: args })),
  };
}
