'use strict';
// A host without traps: it runs payloads as a program of its own would, and says what they changed.
// Standard input: JSON {texts, shape, cjs, before}: `before` is what the host itself runs first. Standard output: a last line of JSON {ending, note, changed}.
// A payload that reaches the process exits with 42, sets the exit code to 42, or prints the word REACHED.
const fs = require('node:fs');

const { getOwnPropertyDescriptor: describe, getOwnPropertyNames: namesOf, getPrototypeOf, is, keys } = Object;
const { ownKeys } = Reflect;
const { stringify } = JSON;
const write = fs.writeSync;
const real = process;
const exit = process.reallyExit.bind(process);
const indirectEval = globalThis.eval;
const AsyncFunction = (async () => {}).constructor;
const wait = setTimeout;
const promise = Promise;
const { then } = Promise.prototype;
const { apply } = Reflect;

function rootsOfTheRealm() {
  const roots = new Map();
  const add = (name, object) => { if (object && !roots.has(object)) roots.set(object, name); };
  for (const name of namesOf(globalThis)) {
    const property = describe(globalThis, name);
    if (!('value' in property)) continue;
    const { value } = property;
    if (typeof value === 'function') {
      add(name, value);
      add(`${name}.prototype`, value.prototype);
    } else if (typeof value === 'object' && value !== null && /^[A-Z]/.test(name)) {
      add(name, value);
    }
  }
  add('%IteratorPrototype%', getPrototypeOf(getPrototypeOf([][Symbol.iterator]())));
  add('%ArrayIteratorPrototype%', getPrototypeOf([][Symbol.iterator]()));
  add('EventEmitter.prototype', require('node:events').prototype);
  return roots;
}

function photograph(roots) {
  const album = { __proto__: null };
  for (const [object, name] of roots) {
    for (const key of ownKeys(object)) {
      if (name === 'Error' && key === 'stackTraceLimit') continue;
      const property = describe(object, key);
      album[`${name}.${String(key)}`] = 'value' in property ? property.value : property.get || property.set;
    }
  }
  for (const name of namesOf(globalThis)) {
    const property = describe(globalThis, name);
    album[`global ${name}`] = 'value' in property ? property.value : property.get;
  }
  return album;
}

const request = JSON.parse(fs.readFileSync(0, 'utf8'));
indirectEval(request.before);
// Node makes some of its globals when they are first read: that is no change by a payload.
for (const name of namesOf(globalThis)) void globalThis[name];
const roots = rootsOfTheRealm();
const before = photograph(roots);

/** What is not as it was; names that a payload adds to the global object are its own business. */
function changes() {
  const after = photograph(roots);
  const changed = [];
  for (const name of keys(before)) if (!is(before[name], after[name])) changed[changed.length] = name;
  for (const name of keys(after)) if (!(name in before) && name.slice(0, 7) !== 'global ') changed[changed.length] = name;
  return changed;
}

function finish(ending, error) {
  let note = '';
  try { note = error === undefined ? '' : `${error.name}: ${error.message}`; } catch { note = 'unprintable'; }
  write(1, `\n${stringify({ ending, note, changed: changes(), exitCode: real.exitCode })}\n`);
  exit(real.exitCode === 42 ? 42 : 0);
}

/** A sloppy host function that has require, module and arguments in scope when the payload is evaluated directly. */
function evaluate() {
  let result;
  for (const text of request.texts) {
    if (request.cjs) result = eval(text);
    else if (request.shape === 'async_body') result = new AsyncFunction(text)();
    else result = indirectEval(text);
    if (request.shape === 'function' && typeof result === 'function') result = result({});
  }
  return result;
}

process.on('uncaughtException', (error) => { finish('threw', error); });
process.on('unhandledRejection', (error) => { finish('threw', error); });
try {
  const settled = promise.resolve(evaluate());
  wait(() => { finish('unsettled'); }, 1000).unref();
  apply(then, settled, [() => { wait(() => { finish('completed'); }, 20); }, (error) => { finish('threw', error); }]);
} catch (error) {
  finish('threw', error);
}
