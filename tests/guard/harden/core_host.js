'use strict';
// Runs P′ bodies, each in a realm of its own. Standard input: JSON [{runtime, before, body, strict}]. `before` is what the
// realm itself runs first; the body names the run-time's functions as R and a name. Standard output: JSON [outcome].
const fs = require('node:fs');
const vm = require('node:vm');

async function run({ before, text }) {
  // A promise that never settles must not end this process in silence.
  const late = new Promise((_, fail) => { setTimeout(fail, 5000, { name: 'never' }).unref(); });
  const context = vm.createContext({ __proto__: null, URL });
  vm.runInContext('globalThis.reached = []; globalThis.reach = (what) => { reached.push(what); };', context);
  if (before) vm.runInContext(before, context);
  let outcome;
  try {
    const value = await Promise.race([vm.runInContext(text, context, { timeout: 5000 }), late]);
    outcome = { value: value === undefined ? null : JSON.parse(JSON.stringify(value)) };
  } catch (error) {
    outcome = error && error.name === 'EvalwardDenied' ? { denied: error.construct, line: error.line } : { throws: error && error.name };
  }
  await new Promise((resolve) => { setImmediate(resolve); });
  outcome.reached = vm.runInContext('JSON.stringify(reached)', context);
  return outcome;
}

process.on('unhandledRejection', () => {});
(async () => {
  const alive = setInterval(() => {}, 1000);
  const outcomes = [];
  for (const each of JSON.parse(fs.readFileSync(0, 'utf8'))) outcomes.push(await run(each));
  clearInterval(alive);
  process.stdout.write(JSON.stringify(outcomes));
})().catch((error) => { console.error(error); process.exit(1); });
