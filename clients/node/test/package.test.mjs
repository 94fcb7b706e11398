// The published package: both module systems, their types, the protocol, and only current copies.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as esm from 'evalward';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const NAMES = ['DeniedError', 'Guard', 'PrepareError', 'guarded', 'inShape', 'prepare', 'spawn', 'toCallToolResult'];

test('import and require give the same names', () => {
  const cjs = createRequire(import.meta.url)('evalward');
  assert.deepEqual(Object.keys(esm).sort(), NAMES);
  assert.deepEqual(Object.keys(cjs).sort(), NAMES);
});

test('the package holds both builds, their types and the protocol, and no source or test', () => {
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const [packed] = JSON.parse(
    execFileSync(npm, ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: 'pipe',
    }),
  );
  const paths = packed.files.map(({ path }) => path);
  for (const path of ['LICENSE', 'README.md', 'package.json', 'proto/evalward/v1/evalward.proto']) {
    assert.ok(paths.includes(path), path);
  }
  for (const build of ['esm', 'cjs']) {
    for (const file of ['index.js', 'index.d.ts', 'guard.js', 'generated/protocol.js', 'generated/codes.js']) {
      assert.ok(paths.includes(`dist/${build}/${file}`), `${build}/${file}`);
    }
  }
  assert.deepEqual(
    paths.filter((path) => !/^(dist|proto)\/|^(LICENSE|README\.md|package\.json)$/.test(path)),
    [],
  );
});
