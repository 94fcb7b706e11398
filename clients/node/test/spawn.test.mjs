// A private guard: it serves only its parent, is restarted when it is killed, and ends with its parent.
import assert from 'node:assert/strict';
import { spawn as start } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { spawn } from 'evalward';
import { missing, scratch } from './service.mjs';

const skip = missing('evalward');
const RENDERER = /** @type {const} */ ({ target: 'renderer' });
const PATIENT = { timeoutMs: 20_000, connectTimeoutMs: 20_000 };

function spawned(t, options) {
  const guard = spawn(options);
  t.after(() => guard.close());
  return guard;
}

function logFile() {
  return join(scratch(), 'audit.jsonl');
}

function ended(pid) {
  return new Promise((resolve) => {
    const look = () => {
      try {
        process.kill(pid, 0);
        setTimeout(look, 10);
      } catch {
        resolve(undefined);
      }
    };
    look();
  });
}

/** Write a program that stands in for `evalward`. */
function program(body) {
  const path = join(scratch(), 'server.mjs');
  writeFileSync(path, body);
  return /** @type {[string, ...string[]]} */ ([process.execPath, path]);
}

test('it allows, blocks, evaluates, and ends when it is closed', { skip }, async (t) => {
  const guard = spawned(t, { allowEval: ['renderer', 'sandbox'], auditLog: logFile(), ...PATIENT });
  assert.equal(await guard.ready(), true);
  assert.equal((await guard.check('() => document.title', { ...RENDERER, shape: 'function' })).allowed, true);
  assert.equal((await guard.check("window['ev' + 'al']('1')", RENDERER)).code, 'EVAL_BLOCKED_CONSTRUCT');
  assert.equal((await guard.check('1', { target: 'main' })).code, 'EVAL_TARGET_DENIED');
  const run = await guard.evaluate('1 + 1');
  assert.equal(run.ok && run.resultJson, '2');

  const { pid } = guard;
  await guard.close();
  await ended(pid);
  assert.equal(await guard.ready(), false);
  assert.equal((await guard.check('1', RENDERER)).code, 'SERVICE_UNREACHABLE');
  assert.equal((await guard.evaluate('1')).code, 'SERVICE_UNREACHABLE');
});

test('one that is killed denies until another one serves', { skip }, async (t) => {
  const held = join(scratch(), 'held');
  const command = /** @type {[string, ...string[]]} */ ([
    ...['sh', '-c', 'while [ -e "$0" ]; do sleep 0.05; done; exec evalward "$@"'],
    held,
  ]);
  const guard = spawned(t, { command, allowEval: ['renderer'], auditLog: logFile(), timeoutMs: 20_000 });
  assert.equal(await guard.ready(), true);
  const { pid } = guard;
  writeFileSync(held, '');
  process.kill(pid, 'SIGKILL');
  await ended(pid);

  const denied = await guard.check('1', RENDERER);
  assert.equal(denied.code, 'SERVICE_UNREACHABLE');
  assert.equal(denied.envelope.retryable, true);

  rmSync(held);
  assert.equal(await guard.ready(), true);
  assert.notEqual(guard.pid, pid);
  assert.equal((await guard.check('1', RENDERER)).allowed, true);
});

test('it ends with a parent that is killed', { skip }, async (t) => {
  const parent = start(process.execPath, ['--input-type=module', '-e', PARENT, logFile()], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => parent.kill('SIGKILL'));
  const line = await new Promise((resolve) => createInterface({ input: parent.stdout }).once('line', resolve));
  const { pid, allowed } = JSON.parse(line);
  assert.equal(allowed, true);
  parent.kill('SIGKILL');
  await ended(pid);
});

const PARENT = `
import { spawn } from 'evalward';
const guard = spawn({ allowEval: ['renderer'], auditLog: process.argv[1], timeoutMs: 20000 });
await guard.ready();
const { allowed } = await guard.check('1', { target: 'renderer' });
console.log(JSON.stringify({ pid: guard.pid, allowed }));
setInterval(() => {}, 1000);
`;

test('a program that is not there, ends at once or announces nothing is a denial', async (t) => {
  const commands = [
    /** @type {[string]} */ (['/nowhere/evalward']),
    program('process.exit(2);'),
    program('console.log("ready"); process.stdin.resume();'),
    program('console.log(JSON.stringify({ type: "ready" })); process.stdin.resume();'),
    program('process.stdin.resume();'),
  ];
  for (const command of commands) {
    const guard = spawned(t, { command, connectTimeoutMs: 300, auditLog: logFile() });
    const denied = await guard.check('1', RENDERER);
    assert.equal(denied.code, 'SERVICE_UNREACHABLE');
    assert.match(
      String(denied.envelope.error),
      /The guard('s process (cannot be started|ended with|is being started)| at unix:.* cannot be reached)/,
    );
    assert.equal((await guard.evaluate('1')).code, 'SERVICE_UNREACHABLE');
    await guard.close();
  }
});

test('it keeps no process alive that has nothing else to do', async () => {
  const child = start(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { spawn } from 'evalward'; spawn({ command: JSON.parse(process.argv[1]) });`,
    ].concat(JSON.stringify(program('process.stdin.resume();'))),
    { cwd: fileURLToPath(new URL('..', import.meta.url)), stdio: 'inherit' },
  );
  assert.equal(await new Promise((resolve) => child.once('close', resolve)), 0);
});

test('options that cannot be used are refused at once', () => {
  assert.throws(() => spawn({ timeoutMs: 0 }), TypeError);
  assert.throws(() => spawn({ connectTimeoutMs: -1 }), TypeError);
});

test("the socket stands in a directory that is nobody else's, the token is new with every run", async (t) => {
  const told = join(scratch(), 'told');
  const body = `
    import { appendFileSync, statSync } from 'node:fs';
    import { dirname } from 'node:path';
    process.stdin.once('data', (token) => {
      const socket = process.argv[process.argv.indexOf('--listen') + 1].slice('unix:'.length);
      const mode = statSync(dirname(socket)).mode & 0o777;
      appendFileSync(${JSON.stringify(told)}, JSON.stringify({ mode, token: String(token), argv: process.argv }) + '\\n');
      process.exit();
    });
  `;
  const guard = spawned(t, {
    command: program(body),
    auditLog: logFile(),
    allowEval: ['main', 'node'],
    policy: 'p.yaml',
  });
  assert.equal(await guard.ready(), false);
  assert.equal(await guard.ready(), false);
  const [first, second] = readFileSync(told, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  for (const { mode, token, argv } of [first, second]) {
    assert.equal(mode, 0o700);
    assert.match(token, /^[0-9a-f]{64}\n$/);
    assert.ok(!argv.includes(token.trim()));
    assert.ok(argv.includes('--parent') && argv.includes('--allow-eval=main,node') && argv.includes('p.yaml'));
  }
  assert.notEqual(first.token, second.token);
});

test("without a log of the caller's, it writes one that no other process writes", { skip }, async (t) => {
  const before = process.env.XDG_STATE_HOME;
  t.after(() => {
    if (before === undefined) delete process.env.XDG_STATE_HOME;
    else process.env.XDG_STATE_HOME = before;
  });
  process.env.XDG_STATE_HOME = scratch();
  const [one, other] = [spawned(t, {}), spawned(t, {})];
  assert.deepEqual(await Promise.all([one.ready(), other.ready()]), [true, true]);
  const logs = readdirSync(join(process.env.XDG_STATE_HOME, 'evalward'));
  assert.equal(logs.filter((name) => name.endsWith('.jsonl')).length, 2);
});
