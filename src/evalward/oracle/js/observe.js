// What a run can be compared by: the value it completes with, its calls on the host, and the globals that it leaves.
// Two runs of one program give the same record, because the clock and the random numbers are counted, not measured.

const MAX_SHOWN = 3000;
const MAX_EFFECTS = 400;
const CLOCK_START = 1.7e12;
const CLOCK_STEP = 7;
const effects = [];

const { getPrototypeOf, isExtensible } = Reflect;
const { is, isFrozen } = Object;
const { isArray } = Array;
const tagOf = objectPrototype.toString;
const { stringify } = JSON;
const reads = (holder, name) => describe(holder, name).get;
const mapEntries = Map.prototype.entries;
const setValues = Set.prototype.values;
const nextOfMap = getPrototypeOf(new Map().entries()).next;
const nextOfSet = getPrototypeOf(new Set().values()).next;
const timeOf = Date.prototype.getTime;
const sourceOf = reads(RegExp.prototype, 'source');
const flagsOf = reads(RegExp.prototype, 'flags');
const prototypes = new WeakMap();

/** Name the prototypes of the realm, so that a value says what it inherits from without running a getter. */
function namePrototypes() {
  for (const name of ownKeys(G)) {
    const property = describe(G, name);
    const value = property && property.value;
    if (typeof name !== 'string' || !isFunction(value) || capabilityOf(value) || apply(weakGet, stubs, [value])) continue;
    const own = describe(value, 'prototype');
    if (own && isObject(own.value)) apply(weakSet, prototypes, [own.value, name]);
  }
}

/** Return the iterated items of a map or a set; `next` is the built-in one. */
function itemsOf(iterator, next) {
  const items = [];
  for (let step = apply(next, iterator, []); !step.done; step = apply(next, iterator, [])) items[items.length] = step.value;
  return items;
}

/** Whether `item` is what a hardened program holds instead of the global object: that is a property of itself, too. */
function isFacade(item) {
  const own = typeof item === 'object' ? describe(item, 'globalThis') : undefined;
  return own !== undefined && own.value === item;
}

/** Write `value` as text: own data properties in order, accessors and functions by what they are, cycles by number. */
function show(value) {
  const met = [];
  let left = MAX_SHOWN;
  const one = (item, depth) => {
    if (--left < 0) return '...';
    if (typeof item === 'string') return stringify(item);
    if (typeof item === 'bigint') return text(item) + 'n';
    if (typeof item === 'symbol') return printable(item);
    if (!isObject(item)) return item === 0 && 1 / item < 0 ? '-0' : text(item);
    if (item === G || isFacade(item)) return 'global';
    const path = apply(weakGet, stubs, [item]);
    if (path) return '<' + path + '>';
    if (capabilityOf(item)) return '<' + capabilityOf(item) + '>';
    if (isFunction(item)) return shownFunction(item); // Not counted: P' may have one where P has a stub.
    for (let i = 0; i < met.length; i++) if (met[i] === item) return '#' + i;
    met[met.length] = item;
    return depth > 8 ? '...' : shownObject(item, depth, one);
  };
  try {
    return one(value, 0);
  } catch {
    return 'unshown';
  }
}

function shownFunction(value) {
  if (isOfTheHost(value)) return '<function>';
  const name = describe(value, 'name');
  const length = describe(value, 'length');
  return 'function ' + printable(name ? name.value : '') + '/' + text(length ? length.value : 0);
}

function shownObject(value, depth, one) {
  const page = shownNode(value);
  if (page !== undefined) return page;
  const tag = apply(tagOf, value, []);
  const parts = [];
  const add = (part) => { parts[parts.length] = part; };
  try {
    if (tag === '[object Date]') add(text(apply(timeOf, value, [])));
    else if (tag === '[object RegExp]') add('/' + apply(sourceOf, value, []) + '/' + apply(flagsOf, value, []));
    else if (tag === '[object Map]') for (const [key, held] of itemsOf(apply(mapEntries, value, []), nextOfMap)) add(one(key, depth + 1) + '=>' + one(held, depth + 1));
    else if (tag === '[object Set]') for (const held of itemsOf(apply(setValues, value, []), nextOfSet)) add(one(held, depth + 1));
  } catch { add('other'); }
  const keys = ownKeys(value);
  for (let i = 0; i < keys.length && i < MAX_SHOWN; i++) {
    const property = describe(value, keys[i]);
    if (!property || keys[i] === 'stack') continue;
    if (isArray(value) && keys[i] === 'length') continue;
    const shown = 'value' in property ? one(property.value, depth + 1) : 'accessor';
    add((isArray(value) ? '' : printable(keys[i]) + (property.enumerable ? ':' : '~:')) + shown);
  }
  const parent = getPrototypeOf(value);
  const kind = parent === null ? 'null' : apply(weakGet, prototypes, [parent]) || 'own';
  let out = kind + (isExtensible(value) ? '{' : '!{');
  for (let i = 0; i < parts.length; i++) out += (i ? ',' : '') + parts[i];
  return out + '}';
}

/** A node or another object of the page, by its markup or its class: its own properties say little. */
function shownNode(value) {
  if (typeof Node === 'undefined' || !isFunction(Node) || apply(weakGet, stubs, [Node])) return undefined;
  if (!(value instanceof Node)) return undefined;
  const node = config.driving ? withoutHandlers(value.cloneNode(true)) : value;
  return node.nodeName + ' ' + (node.outerHTML || node.nodeValue || '');
}

/** Note an effect of the payload outside of itself. */
function notice(what, args) {
  if (!config.observe || frozen || quiet || effects.length >= MAX_EFFECTS) return;
  let line = what;
  for (let i = 0; i < args.length; i++) line += (i ? ', ' : ' ') + show(args[i]);
  effects[effects.length] = line;
}

/** Count clock readings and random numbers, so that two runs of one program have the same ones. */
function countTime() {
  let now = CLOCK_START;
  let seed = 42;
  const tick = () => (now += CLOCK_STEP);
  const RealDate = Date;
  const hidden = (holder, name, value) => define(holder, name, { value, writable: true, configurable: true, enumerable: false });
  hidden(Math, 'random', function random() {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed / 2147483648;
  });
  hidden(RealDate, 'now', function now() { return tick(); });
  const counted = new RealProxy(RealDate, {
    __proto__: null,
    apply: () => text(new RealDate(tick())),
    construct: (target, args, newTarget) =>
      construct(target, args.length ? args : [tick()], newTarget === counted ? target : newTarget),
  });
  hidden(RealDate.prototype, 'constructor', counted);
  expose('Date', counted);
  if (typeof Performance !== 'undefined' && !apply(weakGet, stubs, [Performance])) {
    hidden(Performance.prototype, 'now', function now() { return tick() - CLOCK_START; });
  }
}

// What the run-times of hardened programs note for each other: no effect of the program, and nothing that a payload sees.
const NOTES = Symbol.for('evalward');

/** The record of the run as JSON: completion value, effects, and globals that are new or have another value. */
function record() {
  const globals = [];
  const names = ownKeys(G);
  for (let i = 0; i < names.length; i++) {
    const now = describe(G, names[i]);
    const before = known[names[i]];
    if (names[i] === NOTES || !now || !('value' in now) || (before && is(before.value, now.value))) continue;
    globals[globals.length] = printable(names[i]) + ' = ' + show(now.value);
  }
  const body = config.page && document.documentElement ? document.documentElement.outerHTML : '';
  return stringify({ value: completion, effects, globals, page: body });
}
