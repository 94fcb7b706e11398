// Runs pairs of programs, each in a realm of its own, and reports what each pair gives.
'use strict';
const vm = require('vm');
const { inspect } = require('util');

const WRAP = {
  script: text => text,
  expression: text => `(${text}\n)`,
  function: text => `(${text}\n).call(undefined, 1, { a: 2 }, [3])`,
  async_body: text => `(async function () {\n${text}\n})()`,
};

async function run(text, shape) {
  const context = vm.createContext({});
  try {
    let value = vm.runInContext(WRAP[shape](text), context, { timeout: 5000 });
    if (Object.prototype.toString.call(value) === '[object Promise]') value = await value;
    return { value: inspect(value, { depth: 6, maxArrayLength: 200, maxStringLength: 2000, compact: true, breakLength: Infinity }) };
  } catch (error) {
    const name = error !== null && typeof error === 'object' ? error.name : inspect(error);
    return { error: name, message: String(error && error.message) };
  }
}

async function main() {
  const cases = JSON.parse(require('fs').readFileSync(0, 'utf8'));
  const reports = {};
  for (const { id, before, after, shape } of cases) {
    reports[id] = [await run(before, shape), await run(after, shape)];
  }
  process.stdout.write(JSON.stringify(reports));
}
main();
