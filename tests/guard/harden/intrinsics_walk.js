// An expression: every property of every intrinsic of the realm that evaluates it, one per line as `kind path`.
// kind: function, object, or data (primitives); accessors are `function get path` and `function set path`.
((globalNames) => {
  const lines = [];
  const seen = new Map();
  const queue = [];
  const isObject = (x) => x !== null && (typeof x === 'object' || typeof x === 'function');
  const visit = (value, path) => {
    if (seen.has(value)) return;
    seen.set(value, path);
    queue.push([value, path]);
  };
  const spell = (key) => typeof key === 'symbol' ? '@@' + String(key.description).replace('Symbol.', '') : key;
  const walk = () => {
    while (queue.length) {
      const [holder, path] = queue.shift();
      for (const key of Reflect.ownKeys(holder)) {
        const property = Object.getOwnPropertyDescriptor(holder, key);
        // Every function has these.
        if (typeof holder === 'function' && (key === 'length' || key === 'name') && !isObject(property.value)) continue;
        const name = path + '.' + spell(key);
        if ('value' in property) {
          const { value } = property;
          const first = isObject(value) && !seen.has(value);
          lines.push((isObject(value) ? first || typeof value === 'object' ? typeof value : 'alias' : 'data') + ' ' + name);
          if (isObject(value)) visit(value, name);
        } else {
          for (const part of ['get', 'set']) {
            if (!property[part]) continue;
            lines.push('function ' + part + ' ' + name);
            visit(property[part], part + ' ' + name);
          }
        }
      }
      const above = Object.getPrototypeOf(holder);
      if (above !== null && !seen.has(above)) {
        lines.push('object [' + path + ']');
        visit(above, '[' + path + ']');
      }
    }
  };
  const hidden = {
    IteratorPrototype: () => Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())),
    AsyncIteratorPrototype: () => Object.getPrototypeOf(Object.getPrototypeOf(Object.getPrototypeOf((async function* () {})()))),
    GeneratorFunction: () => (function* () {}).constructor, AsyncFunction: () => (async () => {}).constructor,
    AsyncGeneratorFunction: () => (async function* () {}).constructor,
    ArrayIteratorPrototype: () => Object.getPrototypeOf([][Symbol.iterator]()),
    MapIteratorPrototype: () => Object.getPrototypeOf(new Map()[Symbol.iterator]()),
    SetIteratorPrototype: () => Object.getPrototypeOf(new Set()[Symbol.iterator]()),
    StringIteratorPrototype: () => Object.getPrototypeOf(''[Symbol.iterator]()),
    RegExpStringIteratorPrototype: () => Object.getPrototypeOf(/x/[Symbol.matchAll]('')),
    IteratorHelperPrototype: () => Object.getPrototypeOf([].values().map((x) => x)),
    WrapForValidIteratorPrototype: () => Object.getPrototypeOf(Iterator.from({ next() {} })),
    SegmentsPrototype: () => Object.getPrototypeOf(new Intl.Segmenter().segment('')),
    SegmentIteratorPrototype: () => Object.getPrototypeOf(new Intl.Segmenter().segment('')[Symbol.iterator]()),
    TypedArray: () => Object.getPrototypeOf(Uint8Array),
    ArgumentsMap: () => (function () { 'use strict'; return arguments; })(),
    CallSitePrototype: () => {
      const before = Object.getOwnPropertyDescriptor(Error, 'prepareStackTrace');
      Error.prepareStackTrace = (_, sites) => sites;
      try { return Object.getPrototypeOf(new Error().stack[0]); } finally {
        if (before) Object.defineProperty(Error, 'prepareStackTrace', before); else delete Error.prepareStackTrace;
      }
    },
  };
  seen.set(globalThis, '');
  // What most chains end in gets its usual name, whichever object is walked first.
  visit(Object.prototype, 'Object.prototype');
  visit(Function.prototype, 'Function.prototype');
  for (const name of globalNames ?? Object.getOwnPropertyNames(globalThis)) {
    const property = Object.getOwnPropertyDescriptor(globalThis, name);
    if (!property) continue;
    if (isObject(property.value)) {
      lines.push(typeof property.value + ' ' + name);
      visit(property.value, name);
    } else lines.push('data ' + name);
  }
  for (const name in hidden) {
    try { visit(hidden[name](), '%' + name + '%'); } catch { continue; }
  }
  walk();
  return JSON.stringify(lines);
})
