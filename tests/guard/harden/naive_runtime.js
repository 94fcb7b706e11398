// A run-time that checks nothing: P′ must do with it what P does.
config => {
  const { apply, construct, defineProperty, getOwnPropertyDescriptor, set, deleteProperty } = Reflect;
  const source = config.source;
  const spans = new WeakMap();
  const setName = (f, name) => {
    if (name === undefined) return;
    const own = getOwnPropertyDescriptor(f, 'name');
    if (own && (typeof own.value !== 'string' || (own.value !== '' && !own.value.startsWith(config.prefix)))) return;
    if (typeof name === 'symbol') name = name.description === undefined ? '' : `[${name.description}]`;
    defineProperty(f, 'name', { value: name, writable: false, enumerable: false, configurable: true });
  };
  const f = (fn, name, start, end) => { setName(fn, name); spans.set(fn, [start, end]); return fn; };
  const toString = Function.prototype.toString;
  if (!toString.naive) {
    const replaced = function () { return replaced.all.get(this) ?? apply(toString, this, []); };
    replaced.naive = true;
    replaced.all = new WeakMap();
    defineProperty(Function.prototype, 'toString', { value: replaced, writable: true, configurable: true });
  }
  const texts = Function.prototype.toString.all;
  const remember = (fn, start, end) => texts.set(fn, source.slice(start, end));
  const methods = (object, statics, list) => {
    for (let i = 0; i < list.length; i += 4) {
      const [key, flags, start, end] = [list[i], list[i + 1], list[i + 2], list[i + 3]];
      const own = getOwnPropertyDescriptor(flags & 4 ? statics : object, key);
      const fn = own && (flags & 1 ? own.get : flags & 2 ? own.set : own.value);
      if (typeof fn === 'function') remember(fn, start, end);
    }
  };
  const templates = new Map();
  const global = globalThis;
  return {
    v: x => x, a: x => x, t: x => x, r: x => x, p: x => x, va: x => x, ca: x => x, ye: x => x, fi() {}, bf: (before, f) => f, end: x => x, pm: (x, name) => { defineProperty(x, 'name', { value: name }); return x; }, sp: x => x, io: x => x, os: x => x, pr: x => x,
    rx: (pattern, flags) => new RegExp(pattern, flags), fg() {}, rt: x => x, ws: x => x, kw: x => x, k: x => typeof x === 'symbol' ? x : String(typeof x === 'object' && x !== null || typeof x === 'function' ? key(x) : x),
    d: name => { throw new Error('denied ' + name); },
    c0: (fn, self) => apply(fn, self, []), c1: (fn, self, a) => apply(fn, self, [a]),
    c2: (fn, self, a, b) => apply(fn, self, [a, b]), c3: (fn, self, a, b, c) => apply(fn, self, [a, b, c]),
    c: (fn, self, ...args) => apply(fn, self, args), n: (F, ...args) => new F(...args),
    ct: (fn, self, ...args) => apply(fn, self, args), apply: (fn, self, args) => apply(fn, self, args),
    tpl(site, cooked, raw) {
      if (!templates.has(site)) {
        defineProperty(cooked, 'raw', { value: Object.freeze(raw) });
        templates.set(site, Object.freeze(cooked));
      }
      return templates.get(site);
    },
    f: (fn, name, start, end) => { f(fn, name, start, end); remember(fn, start, end); return fn; },
    cl(C, name, start, end, list) { setName(C, name); remember(C, start, end); methods(C.prototype, C, list); return C; },
    ob(object, list) { methods(object, object, list); return object; },
    gs(name, value, strict) {
      if (strict && !(name in global)) throw new ReferenceError(`${name} is not defined`);
      if (!set(global, name, value) && strict) throw new TypeError(`Cannot assign to read only property '${name}'`);
      return value;
    },
    gd: name => !(name in global) || deleteProperty(global, name),
    hd(names, functions) {
      for (const name of names) if (!Object.hasOwn(global, name)) defineProperty(global, name, { value: undefined, writable: true, enumerable: true, configurable: false });
      for (let i = 0; i < functions.length; i += 2) defineProperty(global, functions[i], { value: functions[i + 1], writable: true, enumerable: true, configurable: false });
    },
    del(object, key, strict) {
      if (object === null || object === undefined) throw new TypeError('Cannot convert undefined or null to object');
      const done = deleteProperty(Object(object), key);
      if (!done && strict) throw new TypeError(`Cannot delete property '${String(key)}'`);
      return done;
    },
    sw(home, key, value, self, strict) {
      if (!set(Object.getPrototypeOf(home), key, value, self) && strict) throw new TypeError('Cannot assign');
      return value;
    },
    need(x) { if (x === null || x === undefined) throw new TypeError(`Cannot destructure '${x}'`); return x; },
    om(object, keys) {
      const rest = {};
      const left = new Set(keys.map(key => typeof key === 'symbol' ? key : String(key)));
      for (const key of Reflect.ownKeys(Object(object))) {
        if (left.has(key) || !getOwnPropertyDescriptor(Object(object), key)?.enumerable) continue;
        defineProperty(rest, key, { value: object[key], writable: true, enumerable: true, configurable: true });
      }
      return rest;
    },
    it(x) {
      const method = x[Symbol.iterator];
      if (typeof method !== 'function') throw new TypeError('x is not iterable');
      const iterator = apply(method, x, []);
      if (Object(iterator) !== iterator) throw new TypeError('Result of the Symbol.iterator method is not an object');
      const next = iterator.next;
      let done = false;
      const step = () => {
        let result;
        try {
          result = apply(next, iterator, []);
          if (Object(result) !== result) throw new TypeError(`Iterator result ${String(result)} is not an object`);
          if (result.done) { done = true; return [true]; }
          return [false, result.value];
        } catch (error) { done = true; throw error; }
      };
      return {
        n: () => done ? undefined : step()[1],
        r() { const all = []; while (!done) { const [end, value] = step(); if (!end) all.push(value); } return all; },
        c() {
          if (done) return;
          done = true;
          const end = iterator.return;
          if (end === undefined || end === null) return;
          const result = apply(end, iterator, []);
          if (Object(result) !== result) throw new TypeError('not an object');
        },
      };
    },
  };
  function key(x) { const holder = { [x]: 0 }; return Reflect.ownKeys(holder)[0]; }
}
