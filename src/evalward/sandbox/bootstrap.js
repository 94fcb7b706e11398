// The guest's side of one evaluation. Runs once, before the memory image is taken; evaluates to [run, finish].
// `run` takes one JSON request, `finish` gives one text: a JSON head line, then the result's JSON.
// Everything is captured here, before any payload runs, because a payload may replace any built-in.
(() => {
'use strict';
const G = globalThis;
const { apply, defineProperty: define } = Reflect;
const { parse, stringify } = JSON;
const { create } = Object;
const { slice } = String.prototype;
const { then } = Promise.prototype;
const { imul } = Math;
const globalEval = G.eval;
const text = String;
const RealPromise = Promise;
const RealError = Error;
const RealInternalError = InternalError;

const MAX_CONSOLE_LINES = 1000;
const MAX_LINE = 4096;
const MAX_NAME = 100;
const MAX_MESSAGE = 500;

let state = 'running';
let value;
let failure;
let limits;
// No prototype: a payload's Array.prototype.toJSON must not speak for the console.
const lines = Object.setPrototypeOf([], null);
let lineCount = 0;
let consoleUsed = 0;
let consoleDropped = 0;

const isFunction = (item) => typeof item === 'function';
const cut = (string, size) => (string.length > size ? apply(slice, string, [0, size]) : string);
// Plain `list[n] = x` would run a setter that the payload put on Array.prototype.
const put = (list, index, item) => define(list, index, { __proto__: null, value: item, writable: true, enumerable: true, configurable: true });

function printed(item) {
  try {
    if (typeof item === 'string') return item;
    if (typeof item === 'bigint') return text(item) + 'n';
    if (item instanceof RealError) return text(item.name) + ': ' + text(item.message);
    if (typeof item === 'object') return stringify(item) ?? 'undefined';
    return text(item);
  } catch {
    return '[unprintable]';
  }
}

function log(level, items) {
  let line = '';
  for (let i = 0; i < items.length && line.length < MAX_LINE; i++) line += (i ? ' ' : '') + cut(printed(items[i]), MAX_LINE);
  line = cut(line, MAX_LINE);
  if (lineCount >= MAX_CONSOLE_LINES || consoleUsed + line.length > limits.console) {
    consoleDropped++;
    return;
  }
  consoleUsed += line.length;
  put(lines, lineCount++, { __proto__: null, level, text: line });
}

const output = {};
for (const level of ['log', 'info', 'warn', 'error', 'debug', 'trace']) {
  output[level] = function () { log(level, arguments); };
}
define(G, 'console', { value: output, writable: true, configurable: true, enumerable: false });

/** The engine tells that memory ran out, or a string grew past what it can hold, only by these messages. */
const isExhausted = (error) => error instanceof RealInternalError
  && (error.message === 'out of memory' || error.message === 'string too long');

function fail(error) {
  state = 'error';
  failure = { __proto__: null, name: 'Error', message: '' };
  try {
    if (isExhausted(error)) state = 'memory';
    if (error !== null && (typeof error === 'object' || isFunction(error))) {
      failure.name = cut(text(error.name ?? 'Error'), MAX_NAME);
      failure.message = cut(text(error.message ?? ''), MAX_MESSAGE);
    } else {
      failure.message = cut(printed(error), MAX_MESSAGE);
    }
  } catch {
    failure.message = 'an error that cannot be described';
  }
}

function succeed(result) {
  state = 'done';
  value = result;
}

/** Mulberry32 (Ettinger 2017): small, and the same on every machine. */
function seedRandom(seed) {
  let s = seed | 0;
  define(Math, 'random', { configurable: true, enumerable: false, writable: true, value: function random() {
    s = (s + 0x6D2B79F5) | 0;
    let t = imul(s ^ (s >>> 15), 1 | s);
    t = (t + imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  } });
}

function run(request) {
  limits = parse(request);
  const { source, calls, arg } = limits;
  seedRandom(limits.seed);
  define(G, 'arg', { value: arg, writable: true, configurable: true, enumerable: true });
  try {
    let result = apply(globalEval, undefined, [source]);
    if (calls) {
      if (!isFunction(result)) throw new TypeError('the payload is not a function');
      result = result(arg);
    }
    if (result !== null && (typeof result === 'object' || isFunction(result)) && isFunction(result.then)) {
      state = 'unsettled';
      apply(then, new RealPromise((resolve) => { resolve(result); }), [succeed, fail]);
    } else {
      succeed(result);
    }
  } catch (error) {
    fail(error);
  }
}

function finish() {
  let json;
  if (state === 'done') {
    try {
      json = stringify(value);
      if (json !== undefined && json.length > limits.output) {
        state = 'too-large';
        json = undefined;
      }
    } catch (error) {
      fail(error);
    }
  }
  const head = { __proto__: null, state, console: lines, dropped: consoleDropped };
  if (failure) head.failure = failure;
  return stringify(head) + '\n' + (json ?? '');
}
return [run, finish];
})()
