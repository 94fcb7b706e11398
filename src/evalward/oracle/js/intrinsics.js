// Traps on what the language itself offers: the four function constructors, eval, prototype tampering, call sites
// and WebAssembly.

/** A stand-in for `target` that records each call and construction, then does what `target` does. */
function trapCalls(target, capability, name) {
  const trapped = new RealProxy(target, {
    __proto__: null,
    apply(_, self, args) {
      hit(capability, 'call', name);
      return apply(target, self, args);
    },
    construct(_, args, newTarget) {
      hit(capability, 'construct', name);
      return construct(target, args, newTarget === trapped ? target : newTarget);
    },
  });
  return mark(trapped, capability);
}

function trapFunctionConstructors() {
  const samples = [['Function', function () {}], ['AsyncFunction', async function () {}],
    ['GeneratorFunction', function* () {}], ['AsyncGeneratorFunction', async function* () {}]];
  let trappedFunction;
  for (const [name, sample] of samples) {
    const prototype = Object.getPrototypeOf(sample);
    const real = prototype.constructor;
    // The other three inherit from Function itself: without this, Object.getPrototypeOf would hand out the real one.
    if (trappedFunction) Object.setPrototypeOf(real, trappedFunction);
    const trapped = trapCalls(real, 'codegen', name);
    define(prototype, 'constructor', { value: trapped, writable: true, configurable: true, enumerable: false });
    if (!trappedFunction) {
      trappedFunction = trapped;
      expose('Function', trapped);
    }
  }
  expose('eval', trapCalls(globalEval, 'codegen', 'eval'));
}

function trapTampering() {
  for (const [holder, name] of [[Object, 'setPrototypeOf'], [Reflect, 'setPrototypeOf']]) {
    const real = holder[name];
    define(holder, name, { value: new RealProxy(real, { __proto__: null,
      apply(_, self, args) { hit('proto-tampering', 'call', name); return apply(real, self, args); } }),
    writable: true, configurable: true, enumerable: false });
  }
  for (const name of ['__proto__', '__defineGetter__', '__defineSetter__', '__lookupGetter__', '__lookupSetter__']) {
    const property = describe(objectPrototype, name);
    if (!property) continue;
    for (const part of ['value', 'get', 'set']) {
      const real = property[part];
      if (!isFunction(real)) continue;
      property[part] = new RealProxy(real, { __proto__: null,
        apply(_, self, args) { hit('proto-tampering', 'call', name); return apply(real, self, args); } });
    }
    define(objectPrototype, name, property);
  }
  let formatter;
  define(Error, 'prepareStackTrace', { configurable: true, enumerable: false, get: () => formatter,
    set(value) { hit('call-sites', 'set', 'Error.prepareStackTrace'); formatter = value; } });
}

function trapWebAssembly() {
  if (typeof WebAssembly === 'undefined') { expose('WebAssembly', recorder('wasm', 'WebAssembly')); return; }
  for (const key of ownKeys(WebAssembly)) {
    const real = WebAssembly[key];
    if (isFunction(real)) {
      define(WebAssembly, key, { value: trapCalls(real, 'wasm', 'WebAssembly.' + text(key)), writable: true, configurable: true });
    }
  }
}

/** Every built-in prototype with its own properties as they are before the payload runs. */
function photographPrototypes() {
  const album = [];
  const keep = (name, holder) => {
    const properties = create(null);
    for (const key of ownKeys(holder)) properties[key] = describe(holder, key);
    album[album.length] = { name, holder, properties };
  };
  for (const name of ownKeys(G)) {
    const property = describe(G, name);
    const value = property && property.value;
    if (!isFunction(value) || !/^[A-Z]/.test(text(name)) || apply(weakGet, stubs, [value])) continue;
    if (value === G.Function || (!capabilityOf(value) && isObject(value.prototype))) {
      keep(text(name) + '.prototype', value.prototype);
    }
  }
  keep('%IteratorPrototype%', Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())));
  keep('%GeneratorPrototype%', Object.getPrototypeOf(function* () {}).prototype);
  return album;
}

function reportTampering(album) {
  for (let i = 0; i < album.length; i++) {
    const { name, holder, properties } = album[i];
    const keys = ownKeys(holder);
    for (let k = 0; k < keys.length; k++) {
      const now = describe(holder, keys[k]);
      const before = properties[keys[k]];
      if (!before || !now || before.value !== now.value || before.get !== now.get || before.set !== now.set) {
        hit('proto-tampering', 'set', name + '.' + text(keys[k]));
        leak(now && now.value, name, 1);
      }
    }
    if (keys.length < ownKeys(properties).length) hit('proto-tampering', 'set', name + ' (deleted)');
  }
}
