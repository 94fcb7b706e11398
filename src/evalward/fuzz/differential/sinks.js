'use strict';
// One batch: {sinks: [[shape, prefix, suffix]], texts: [string]} on stdin, and on stdout for each text and each sink
// null where V8 refuses the text, else the probes that ran: "P0" for a read, "P0()" for a call.
const vm = require('node:vm');
const { readFileSync, writeSync } = require('node:fs');

const TIMEOUT_MS = 250;
const PROBES = 12;
const TURNS = 3;
const RUNS_PER_CONTEXT = 100;
const NAMES = ['a', 'b', 'c', 'f', 'g', 'i', 'n', 'x', 'y', 'q', 'name', 'of', 'get', 'set', 'static', 'async', 'let', 'yield', 'await', 'using', 'target'];
const COMMENT = /\/\/|<!--|-->|#!/;
const LEXICAL = /let|const|class|using/; // what no assignment undoes: a new context soon, though it costs a millisecond
const COST_OF_LEXICAL = 10;
// Everything about it works, so that a text runs on to its probe.
const SETUP = `
  const anything = new Proxy(function () {}, {
    get: (own, key) => {
      if (key === Symbol.toPrimitive) return () => 1;
      if (key === Symbol.iterator) return function* () { yield anything; };
      if (key === Symbol.hasInstance) return () => true;
      if (key === 'then' || key === Symbol.asyncIterator || key === Symbol.unscopables) return undefined;
      if (key === 'prototype') return own.prototype;
      return anything;
    },
    set: () => true, apply: () => anything, construct: () => anything,
  });
  (probes, names, ran) => {
    const reset = () => { for (const name of names) globalThis[name] = anything; };
    reset();
    for (const name of probes) {
      const called = new Proxy(function () {}, {
        apply: () => { ran(name + '()'); return anything; },
        construct: () => { ran(name + '()'); return anything; },
        get: (own, key) => key === Symbol.toPrimitive ? () => 1 : key === 'then' ? undefined : anything,
      });
      Object.defineProperty(globalThis, name, { get() { ran(name); return called; }, set() {} });
    }
    return reset;
  }`;

let context;
let reset; // A text may have made anything of the names that the next one uses.
let runs = RUNS_PER_CONTEXT;
let ran = new Set();

function fresh() {
  context = vm.createContext(Object.create(null), { microtaskMode: 'afterEvaluate' });
  const probes = Array.from({ length: PROBES }, (_, index) => `P${index}`);
  reset = vm.runInContext(SETUP, context)(probes, NAMES, (name) => { ran.add(name); });
  runs = 0;
}

const refuseImport = () => { throw new Error('no modules'); };

async function runModule(text) {
  if (runs >= RUNS_PER_CONTEXT) fresh();
  runs += 1;
  let module;
  try {
    module = new vm.SourceTextModule(text, { context, importModuleDynamically: refuseImport });
  } catch {
    return null;
  }
  try {
    await module.link(() => new vm.SyntheticModule(['a', 'default'], () => {}, { context }));
    module.evaluate({ timeout: TIMEOUT_MS }).catch(() => {});
    // Awaiting code is resumed from the context's own queue, which is emptied only when a script ends: within the
    // time of this text.
    for (let turn = 0; turn < TURNS; turn += 1) {
      await new Promise(setImmediate);
      vm.runInContext('0', context, { timeout: TIMEOUT_MS });
    }
  } catch { /* what ran before counts */ }
  const found = [...ran];
  reset();
  return found;
}

function runScript(text, shape) {
  let script;
  try {
    script = new vm.Script(text, { importModuleDynamically: refuseImport });
  } catch {
    return null;
  }
  if (runs >= RUNS_PER_CONTEXT) fresh();
  for (const retry of [true, false]) {
    try {
      script.runInContext(context, { timeout: TIMEOUT_MS });
    } catch (error) {
      // What ran before counts; a name that an earlier text declared is no fault of this one.
      if (retry && error && /has already been declared/.test(error.message)) {
        fresh();
        continue;
      }
    }
    break;
  }
  const found = [...ran];
  reset();
  runs += shape === 'script' && LEXICAL.test(text) ? COST_OF_LEXICAL : 1;
  return found;
}

async function main() {
  const { sinks, texts } = JSON.parse(readFileSync(0, 'utf8'));
  const rows = [];
  for (const text of texts) {
    const row = [];
    for (const [shape, prefix, suffix] of sinks) {
      ran = new Set();
      const bare = suffix && !suffix.startsWith('\n');
      if (bare && !COMMENT.test(text)) row.push(null); // its line break makes no difference but behind a comment
      else row.push(shape === 'module' ? await runModule(text) : runScript(prefix + text + suffix, shape));
    }
    rows.push(row);
  }
  writeSync(1, JSON.stringify(rows));
}

process.on('unhandledRejection', () => {});
process.on('uncaughtException', () => {});
main();
