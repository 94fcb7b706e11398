// Reads [{plain, hard}] from standard input and writes, for each, what both evaluate to in a fresh realm.
const vm = require('node:vm');
const { inspect } = require('node:util');
const { readFileSync } = require('node:fs');

const host = { setTimeout, clearTimeout, queueMicrotask, structuredClone };

async function evaluate(code) {
  try {
    return inspect(await vm.runInContext(code, vm.createContext({ ...host })), { depth: 4 });
  } catch (error) {
    return `throws ${error && error.message}`;
  }
}

(async () => {
  const results = [];
  for (const { plain, hard } of JSON.parse(readFileSync(0, 'utf8'))) {
    results.push({ plain: await evaluate(plain), hard: await evaluate(hard) });
  }
  process.stdout.write(JSON.stringify(results));
})();
