// The golden files of the Python adapters are those of this package: one form of a result for all languages.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { toCallToolResult } from 'evalward';

const GOLDEN = new URL('../../../tests/data/adapters/call_tool_result.json', import.meta.url);
const cases = Object.entries(JSON.parse(readFileSync(GOLDEN, 'utf8')));

test('there are golden results of successes and of failures', () => {
  assert.deepEqual([...new Set(cases.map(([, { result }]) => result.isError))].sort(), [false, true]);
});

for (const [name, { result }] of cases) {
  test(`the result for ${name} is the golden one`, () => {
    assert.deepEqual(toCallToolResult(result.structuredContent), result);
    assert.deepEqual(toCallToolResult({ envelope: result.structuredContent }), result);
  });
}
