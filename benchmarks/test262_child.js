'use strict';
// Runs test262 programs, each in a realm of its own: one JSON request a line on stdin, one answer a line on stdout.
// Request {source, waits}: `waits` says that the program reports through $DONE. Answer {result}: pass, or fail and why.
const vm = require('node:vm');
const readline = require('node:readline');

const TIMEOUT_MS = 4000;
const PATIENCE_MS = 1500;

function described(error) {
  try { return `${error.name || error.constructor.name}: ${error.message}`.slice(0, 300); } catch { return 'an error that cannot be shown'; }
}

function run({ source, waits }) {
  return new Promise((answer) => {
    const context = vm.createContext({});
    try {
      vm.runInContext(source, context, { timeout: TIMEOUT_MS, filename: 'test.js' });
    } catch (error) {
      answer(`fail ${described(error)}`);
      return;
    }
    if (!waits) {
      answer('pass');
      return;
    }
    const begun = Date.now();
    const look = () => {
      const said = vm.runInContext('typeof $DONE_RESULT === "string" ? $DONE_RESULT : ""', context);
      if (said) answer(said);
      else if (Date.now() - begun > PATIENCE_MS) answer('fail $DONE was not called');
      else setTimeout(look, 2);
    };
    setImmediate(look);
  });
}

process.on('uncaughtException', () => {});
process.on('unhandledRejection', () => {});
let turn = Promise.resolve();
readline.createInterface({ input: process.stdin }).on('line', (line) => {
  turn = turn.then(async () => {
    process.stdout.write(`${JSON.stringify({ result: await run(JSON.parse(line)) })}\n`);
  });
}).on('close', () => { process.exit(0); });
