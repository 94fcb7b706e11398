'use strict';
// The Node oracle's child process: one JSON request a line on stdin, hits and endings as JSON lines on stdout.
// A payload may break out of `vm`; that is a finding too, so this realm's own capabilities are trapped as well.
const fs = require('node:fs');
const vm = require('node:vm');
const readline = require('node:readline');

const { stringify, parse } = JSON;
const write = fs.writeSync.bind(fs);
const exit = process.exit.bind(process);
let current = -1;
const say = (message) => { write(1, stringify(message) + '\n'); };
const emit = (line) => { say({ id: current, hit: line }); };

/** A payload that reaches this realm has left its own: report that, and return nothing to it. */
function trapThisRealm() {
  const refuse = (capability, path) => new Proxy(function () {}, {
    apply() { emit(`${capability}\tcall\t${path} (left the context)`); throw null; },
    construct() { emit(`${capability}\tconstruct\t${path} (left the context)`); throw null; },
  });
  for (const sample of [function () {}, async function () {}, function* () {}, async function* () {}]) {
    Object.defineProperty(Object.getPrototypeOf(sample), 'constructor', { value: refuse('codegen', 'Function') });
  }
  globalThis.Function = refuse('codegen', 'Function');
  globalThis.eval = refuse('codegen', 'eval');
  for (const name of ['exit', 'kill', 'abort', 'binding', '_linkedBinding', 'dlopen', 'reallyExit', 'getBuiltinModule']) {
    process[name] = refuse('process', `process.${name}`);
  }
}

async function runModule(request, context, harness) {
  const module = new vm.SourceTextModule(request.source, {
    context,
    initializeImportMeta() { emit('import\tread\timport.meta'); },
    importModuleDynamically: refuseImport,
  });
  await module.link((specifier) => {
    emit(`import\tcall\t${specifier.slice(0, 80)}`);
    return new vm.SyntheticModule([], () => {}, { context });
  });
  const begun = Date.now();
  // The promise of evaluate() settles in the context's own queue of jobs, which nothing runs once the call is over.
  module.evaluate({ timeout: request.timeout });
  await new Promise((resolve) => { setImmediate(resolve); });
  vm.runInContext('0', context, { timeout: request.timeout });
  if (module.status === 'errored') {
    // A module that is stopped keeps no error.
    const stopped = module.error === null && Date.now() - begun >= request.timeout;
    throw stopped ? Object.assign(new Error('stopped'), { code: 'ERR_SCRIPT_EXECUTION_TIMEOUT' }) : module.error;
  }
  harness.settle(undefined, false);
}

function refuseImport(specifier) {
  emit(`import\tcall\t${String(specifier).slice(0, 80)}`);
  throw null; // A host error would carry this realm's constructors.
}

async function run(request) {
  current = request.id;
  const context = vm.createContext(Object.create(null), { microtaskMode: 'afterEvaluate' });
  const options = { timeout: request.timeout };
  const build = vm.runInContext(request.traps, context);
  const harness = build(emit, request.config);
  let ending;
  try {
    if (request.module) {
      await runModule(request, context, harness);
    } else {
      const script = new vm.Script(request.source, { filename: 'payload.js', importModuleDynamically: refuseImport });
      const value = script.runInContext(context, options);
      context.__value = value;
      context.__settle = harness.settle;
      vm.runInContext('{ const settle = __settle, value = __value; delete globalThis.__settle; delete globalThis.__value; '
        + `settle(value, ${request.calls}) }`, context, options);
    }
  } catch (error) {
    if (error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') ending = 'deadline\t';
    else if (error instanceof SyntaxError) ending = `syntax-error\t${error.message.slice(0, 100)}`;
    else harness.fail(error);
  }
  // Jobs queued by host promises (import) run after the next turn of this realm's loop.
  await new Promise((resolve) => { setImmediate(resolve); });
  try {
    context.__finish = harness.finish;
    const state = vm.runInContext('{ const finish = __finish; delete globalThis.__finish; finish() }', context, options);
    ending ??= state;
  } catch {
    ending ??= 'deadline\t';
  }
  say({ id: request.id, end: String(ending) });
}

process.on('uncaughtException', () => {});
process.on('unhandledRejection', () => {});
const lines = readline.createInterface({ input: process.stdin });
const queue = [];
let busy = false;
async function drain() {
  if (busy) return;
  busy = true;
  while (queue.length) await run(parse(queue.shift()));
  busy = false;
}
lines.on('line', (line) => { queue.push(line); drain(); });
lines.on('close', () => { exit(0); });
trapThisRealm();
say({ ready: true });
