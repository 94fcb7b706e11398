// Stand-ins for host objects: recorders for what is denied whole, stubs for what is mostly harmless, and `process`,
// whose harmless reads are a list (guard.md §2).

/** The capability that a member stands for, where it differs from its holder's. */
function capabilityOfMember(holder, key) {
  if (key === 'constructor' && holder !== 'module') return 'codegen';
  return Object.hasOwn(config.members, key) ? config.members[key] : holder;
}

/** What a loader gives: some modules are capabilities of their own. */
function capabilityOfCall(holder, args) {
  const name = typeof args[0] === 'string' ? args[0].replace(/^node:/, '') : '';
  return Object.hasOwn(config.modules, name) ? config.modules[name] : holder;
}

/** An object of which every part is denied: any call, construction or write on it is a hit, a read a weak one. */
function recorder(capability, path, depth = 0) {
  const value = new RealProxy(function () {}, {
    __proto__: null,
    get(_, key) {
      if (key === Symbol.toPrimitive) return () => '[' + path + ']';
      if (typeof key === 'symbol' || key === 'then') return undefined;
      if (key === 'name') return path.slice(path.lastIndexOf('.') + 1);
      const where = path + '.' + key;
      hit(capability, 'get', where);
      return depth > 8 ? undefined : recorder(capabilityOfMember(capability, key), where, depth + 1);
    },
    set(_, key) { hit(capability, 'set', path + '.' + printable(key)); return true; },
    defineProperty(_, key) { hit(capability, 'set', path + '.' + printable(key)); return true; },
    deleteProperty(_, key) { hit(capability, 'set', path + '.' + printable(key)); return true; },
    has: () => true,
    apply(_, self, args) {
      hit(capability, 'call', path);
      return depth > 8 ? undefined : recorder(capabilityOfCall(capability, args), path + '()', depth + 1);
    },
    construct(_, args) {
      hit(capability, 'construct', path);
      return recorder(capabilityOfCall(capability, args), 'new ' + path, depth + 1);
    },
  });
  return mark(value, capability);
}

/** Whether a name of the environment is one that every payload may read. */
function isListed(key) {
  return typeof key === 'symbol' || key in objectPrototype || config.envNames.includes(key) || apply(slice, key, [0, 9]) === 'ELECTRON_';
}

function environment() {
  // The existence of a variable is data, too.
  const asked = (key) => { if (!isListed(key)) hit('process', 'read', 'process.env.' + key); };
  return mark(new RealProxy(create(objectPrototype), {
    __proto__: null,
    get(target, key) {
      if (typeof key === 'symbol' || key in objectPrototype) return target[key];
      asked(key);
      return isListed(key) ? 'test' : 'secret';
    },
    set(_, key) { hit('process', 'set', 'process.env.' + printable(key)); return true; },
    deleteProperty(_, key) { hit('process', 'set', 'process.env.' + printable(key)); return true; },
    ownKeys() { hit('process', 'read', 'process.env (all)'); return ['SECRET']; },
    has(target, key) { asked(key); return key in target || typeof key !== 'symbol'; },
    getOwnPropertyDescriptor(_, key) {
      asked(key);
      return { value: isListed(key) ? 'test' : 'secret', configurable: true, enumerable: true, writable: true };
    },
  }), 'process');
}

/** Data of the host that a payload may read, and not change. */
function readOnly(value, path) {
  const changed = (_, key) => { hit('process', 'set', path + '.' + printable(key)); return true; };
  return new RealProxy(value, { __proto__: null, set: changed, defineProperty: changed, deleteProperty: changed });
}

function processTrap() {
  const harmless = create(objectPrototype);
  // A copy of this realm: Node's configuration was made in another, and so were its arrays.
  const data = JSON.parse(JSON.stringify(config.processData));
  for (const key of ownKeys(data)) harmless[key] = isObject(data[key]) ? readOnly(data[key], 'process.' + key) : data[key];
  for (const key of config.processCalls) harmless[key] = () => 1;
  harmless.hrtime = () => [1, 0];
  harmless.hrtime.bigint = () => 1n;
  harmless.memoryUsage = () => ({ rss: 1, heapTotal: 1, heapUsed: 1, external: 1 });
  harmless.nextTick = (callback, ...args) => {
    if (!isFunction(callback)) hit('process', 'call', 'process.nextTick');
    later(callback, args, 'process.nextTick');
  };
  harmless.env = environment();
  return mark(new RealProxy({}, {
    __proto__: null,
    get(_, key) {
      if (key in harmless && key !== 'constructor') return harmless[key];
      if (typeof key === 'symbol') return undefined;
      const strong = config.processSecrets.includes(key);
      hit('process', strong ? 'read' : 'get', 'process.' + key);
      return recorder(capabilityOfMember('process', key), 'process.' + key);
    },
    set(_, key) { hit('process', 'set', 'process.' + printable(key)); return true; },
    defineProperty(_, key) { hit('process', 'set', 'process.' + printable(key)); return true; },
    deleteProperty(_, key) { hit('process', 'set', 'process.' + printable(key)); return true; },
    has: (_, key) => key in harmless || config.processSecrets.includes(key) || config.processDenied.includes(key),
    getOwnPropertyDescriptor(_, key) {
      const value = key in harmless ? harmless[key] : recorder('process', 'process.' + printable(key));
      if (!(key in harmless)) hit('process', 'get', 'process.' + printable(key));
      return { value, configurable: true, enumerable: true, writable: true };
    },
    ownKeys: () => [...config.processDenied, 'env', 'mainModule', 'version', 'platform'],
  }), 'process');
}

/** A class for stubs to point at, so that `stub.constructor.constructor` is the trapped Function as it would be. */
function Host() {}

/** A class whose prototype has the tag that Web IDL gives it. */
const tagged = (made, name) => {
  define(made.prototype, Symbol.toStringTag, { value: name, configurable: true });
  return made;
};

/**
 * A mostly harmless host object: every read gives another, every call one that can be awaited. It is a function, unless
 * `target` is an instance of a class.
 */
function stub(path, depth = 0, awaitable = false, target = (0, function () {})) {
  // Instances of the Web's interfaces have a tag.
  if (depth === 0 && isFunction(target)) tagged(target, path);
  const value = new RealProxy(target, {
    __proto__: null,
    get(_, key) {
      if (key === Symbol.toPrimitive) return (hint) => (hint === 'number' ? 1 : config.word ?? 'stub');
      if (key === Symbol.iterator || key === Symbol.asyncIterator) return function* () { yield stub(path + '[]', depth + 1); };
      if (key === 'toJSON' && config.driving) return () => 'stub'; // As data it is the text that it converts to.
      if (typeof key === 'symbol' || (key === 'toJSON' && config.observe)) return undefined;
      if (key === 'then' || key === 'catch' || key === 'finally') return awaitable ? settledMember(path, depth, key) : undefined;
      if (key === 'constructor') return Host;
      if (key === 'call' || key === 'apply' || key === 'bind') return target[key];
      if (key === 'length') return 1;
      if (key in objectPrototype) return target[key];
      if (depth > 12) return undefined;
      return valueOf(path + '.' + key, depth) ?? stub(path + '.' + key, depth + 1);
    },
    set(_, key, assigned, receiver) {
      if (receiver !== value) return expose(key, assigned, receiver);
      leak(assigned, path + '.' + printable(key), 1);
      notice(path + '.' + printable(key) + ' =', [assigned]);
      return true;
    },
    has: () => true,
    apply(_, self, args) { return stubCall(path, depth, args); },
    construct(_, args) { return stubCall(path, depth, args); },
  });
  apply(weakSet, stubs, [value, path]);
  return value;
}

/** A method of the promise that an awaitable stub is. */
function settledMember(path, depth, key) {
  const settled = RealPromise.resolve(stub(path, depth));
  return (...args) => apply(RealPromise.prototype[key], settled, args);
}

const functionText = Function.prototype.toString;

/** Whether `f` shows no text, and is neither bound by the payload nor what settles a promise. */
function isNative(f) {
  if (!apply(functionText, f, []).includes('[native code]')) return false;
  const name = describe(f, 'name')?.value;
  return hasOwn(f, 'prototype') || (typeof name === 'string' && name !== '' && !name.startsWith('bound '));
}

/** Whether `f` is the host's. What P' holds instead of a function of the host's is frozen, or has no text. */
const isOfTheHost = (f) => apply(weakGet, stubs, [f]) !== undefined || (config.observe && (isFrozen(f) || isNative(f)));

// How many callbacks each stub has been given: what they do at the same time is distinguished by it.
const callbacks = create(null);

/** Arguments of which the first is a URL: the Web converts to text what is no request of its own (Web IDL, RequestInfo). */
function asUrl(args) {
  const [url, ...rest] = args;
  if (!config.observe || !isObject(url) || apply(tagOf, url, []) === '[object Request]') return args;
  return [text(url), ...rest];
}

function stubCall(path, depth, args) {
  const name = path.slice(path.lastIndexOf('.') + 1);
  if (isDriven(name)) return driven(path, name, args);
  if (config.observe && hasOwn(config.answers, name)) return config.answers[name];
  // Asking what a request is has no effect.
  if (args.length > 0 || !config.doNothing.includes(name)) notice(path, config.takeUrl.includes(path) ? asUrl(args) : args);
  for (const [suffix, capability] of config.deniedCalls) {
    if (path === suffix || path.endsWith('.' + suffix)) hit(capability, 'call', path);
  }
  // A function travels with the payload, and was judged with it; text and options with text or a path were not.
  // Its text is what its method toString gives.
  if (config.scriptCalls.includes(name) && !(isFunction(args[0]) && args[0].toString === Function.prototype.toString)) hit('nested-evaluation', 'call', path);
  const takesText = config.textCalls.includes(name) && !among(path, config.xpathCalls);
  const owner = path.slice(0, path.lastIndexOf('.'));
  for (const [module, capability] of config.deniedModules) {
    if (owner === module || owner.endsWith('.' + module) || path.endsWith('.' + module)) hit(capability, 'call', path);
  }
  for (let i = 0; i < args.length; i++) {
    if (!config.keepNothing.includes(path)) leak(args[i], path + '()', 1);
    const preferences = isObject(args[i]) && !apply(weakGet, stubs, [args[i]]) && !apply(weakGet, data, [args[i]]) && args[i].webPreferences;
    // What a class inherits from one of the host's is a stub, whatever it is called.
    if (isObject(preferences) && !apply(weakGet, stubs, [preferences]) && (preferences.nodeIntegration || preferences.contextIsolation === false || preferences.preload)) {
      hit('electron', 'construct', path + ' (webPreferences)');
    }
    if (takesText && typeof args[i] === 'string' && i === (config.textSecond.includes(name) ? 1 : 0)) {
      hit('nested-evaluation', 'call', path);
    }
    // A driver sends the text of such a function to another realm. What P' sends is a program for that realm.
    if (config.observe && (takesText || config.callNothing.includes(name))) continue;
    if (isFunction(args[i]) && !capabilityOf(args[i]) && !isOfTheHost(args[i])) {
      const given = path + ' argument' + (config.observe ? (callbacks[path] = (callbacks[path] ?? 0) + 1) : '');
      const passed = [stub(given, depth + 1), stub(given, depth + 1)];
      // What lists call, they call at once: later, its effects would be counted by the jobs that a program takes.
      if (config.observe && hasOwn(Array.prototype, name)) apply(args[i], undefined, passed);
      else later(args[i], passed, path);
    }
  }
  return depth > 12 ? undefined : resultOf(path, depth, args) ?? stub(path + '()', depth + 1, true);
}
