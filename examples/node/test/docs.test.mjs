// The page "a guarded eval tool in ten minutes (Node)" works as printed.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chromium } from '../browser.mjs';
import { directory, missing } from './harness.mjs';

const HERE = fileURLToPath(new URL('..', import.meta.url));
const PAGE = readFileSync(join(HERE, '..', '..', 'docs', 'tutorials', 'guarded-eval-tool-node.md'), 'utf8');

test('the server and the client of the docs page', { skip: missing() }, () => {
  const folder = directory();
  symlinkSync(join(HERE, 'node_modules'), join(folder, 'node_modules'));
  // A text that is judged for the first time on a busy machine may take longer than a quarter of a second.
  const patient = "spawn({ allowEval: ['renderer'], timeoutMs: 20_000 })";
  const blocks = [...PAGE.matchAll(/```js\n(.*?)```/gs)].map(([, text]) => text);
  assert.equal(blocks.length, 2);
  assert.ok(blocks[0].includes("spawn({ allowEval: ['renderer'] })"));
  writeFileSync(join(folder, 'server.mjs'), blocks[0].replace("spawn({ allowEval: ['renderer'] })", patient));
  writeFileSync(join(folder, 'try.mjs'), blocks[1]);

  const done = spawnSync(process.execPath, ['try.mjs'], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, EVALWARD_ADDRESS: '', XDG_STATE_HOME: folder, CHROMIUM: chromium() },
  });

  assert.equal(done.status, 0, done.stderr);
  const lines = done.stdout.split('\n');
  assert.equal(lines[0], 'false "Shop"');
  assert.match(lines[1], /^true EVAL_BLOCKED_CONSTRUCT: /);
  assert.match(lines[2], /^Repairable: yes$/);
});
