// The hit log: what was reached, written out at once through `emit`, so that a hit survives whatever the payload
// does next. Everything is captured before the payload runs, because the payload may replace any built-in.
const { apply, construct, defineProperty: define, getOwnPropertyDescriptor: describe, ownKeys, get: read, set: write, has, setPrototypeOf: reparent } = Reflect;
const { create, freeze, hasOwn, prototype: objectPrototype } = Object;
const { slice, charCodeAt } = String.prototype;
const { then } = Promise.prototype;
const RealPromise = Promise;
const RealProxy = Proxy;
const globalEval = G.eval;
const text = String;
const weakGet = WeakMap.prototype.get;
const weakSet = WeakMap.prototype.set;

const MAX_HITS = 200;
const MAX_PATH = 100;
const seen = create(null);
let hits = 0;
let frozen = false;
let quiet = false;

const isFunction = (value) => typeof value === 'function';
const isObject = (value) => (typeof value === 'object' && value !== null) || isFunction(value);

/** Printable ASCII of at most MAX_PATH characters: the log is one line per hit, and a path is for people. */
function printable(value) {
  const raw = typeof value === 'symbol' || typeof value === 'string' ? text(value) : typeof value;
  let out = '';
  for (let i = 0; i < raw.length && i < MAX_PATH; i++) {
    const code = apply(charCodeAt, raw, [i]);
    out += code < 32 || code > 126 ? '?' : raw[i];
  }
  return out;
}

/** Record that `capability` was reached by `op`: call, construct, set, read, leak, or get (weak: only looked at). */
function hit(capability, op, path) {
  if (frozen || quiet || hits >= MAX_HITS) return;
  const line = capability + '\t' + op + '\t' + printable(path);
  if (seen[line]) return;
  seen[line] = true;
  hits++;
  emit(line);
}

const capabilities = new WeakMap();
const stubs = new WeakMap();
const mark = (value, capability) => { apply(weakSet, capabilities, [value, capability]); return value; };
const capabilityOf = (value) => (isObject(value) ? apply(weakGet, capabilities, [value]) : undefined);

/** A capability inside `value` leaves the payload. Own data properties only: no getter of the payload is run. */
function leak(value, where, depth = 2) {
  if (!isObject(value) || apply(weakGet, stubs, [value])) return;
  const capability = capabilityOf(value);
  if (capability) { hit(capability, 'leak', where); return; }
  if (depth === 0) return;
  const keys = ownKeys(value);
  for (let i = 0; i < keys.length && i < 60; i++) {
    const property = describe(value, keys[i]);
    if (property && 'value' in property && keys[i] !== 'constructor') leak(property.value, where, depth - 1);
  }
}

/** Define a plain global, as the host would have: writable and configurable. */
const expose = (name, value, holder = G) => define(holder, name, { value, writable: true, configurable: true, enumerable: false });
