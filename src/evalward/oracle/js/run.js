// Install the traps that `config` asks for, then follow one payload from its value to the end.

const tamperedRoots = [];

function install() {
  trapFunctionConstructors();
  trapTampering();
  trapWebAssembly();
  mark(G, 'global');
  if (config.platform) platform();
  for (const name of config.globalNames) define(G, name, { configurable: true, get: () => G, set() {} });
  expose('process', processTrap());
  for (const [name, capability] of config.recorders) expose(name, recorder(capability, name));
  for (const name of config.stubs) expose(name, stub(name));
  if (config.stubs.includes('location')) forwardLocation();
  for (const [name, path] of config.bindings) expose(name, path === 'json' ? jsonArgument() : stub(path));
  if (config.observe) countTime();
  if (config.observe && !config.page) web();
  for (const name of config.absent) delete G[name];
  if (config.driving) nameStandIns();
}

/** A page's `location` is an accessor of the window, and a write goes to the page (HTML: LegacyUnforgeable, PutForwards=href). */
function forwardLocation() {
  const { location } = G;
  const set = (href) => {
    leak(href, 'location =', 1);
    notice('location =', [text(href)]);
  };
  define(G, 'location', { get: () => location, set, configurable: true, enumerable: true });
}

const known = create(null);

/** Note how the world stands once every trap is in place, so that `finish` sees what the payload changed. */
function remember() {
  tamperedRoots.push(...photographPrototypes());
  if (config.observe) namePrototypes();
  for (const name of ownKeys(G)) known[name] = describe(G, name);
}

let state = 'running';
let argument;

/** The JSON that the caller sends: `config.arg`, or, with `config.word`, one that says that word wherever it is asked. */
function jsonArgument() {
  if (config.word === null) return JSON.parse(config.arg);
  const answer = (target, key) => {
    if (typeof key === 'symbol' || key === 'then' || key === 'toJSON' || key in objectPrototype) return target[key];
    if (config.valueNames.includes(key)) return config.value;
    return config.words ? config.words : config.word;
  };
  return new RealProxy({}, { __proto__: null,
    get: answer });
}

/** What a test runner calls a test with: a plain object, of which every member is a host's object. */
function fixtures() {
  return new RealProxy({}, { __proto__: null,
    get: (target, key) => (typeof key === 'symbol' || key === 'then' || key in objectPrototype ? target[key] : target[key] ??= stub(key)) });
}

/** What a `function` payload is called with: the host's object where the sink binds one, else the JSON argument. */
function firstArgument() {
  const { driving } = config;
  if (driving?.element) argument = foundElement();
  else if (config.fixtures) argument = fixtures();
  else argument = config.first && !driving?.argument ? stub(config.first) : jsonArgument();
  return argument;
}

function fail(error) {
  state = 'threw';
  leak(error, 'thrown value', 1);
  note = describeError(error);
}

/** Whether a compared run waits for its promise: the host may need longer for it than a moment. */
const pending = () => config.observe && state === 'unsettled';

let note = '';
let completion = '';

function describeError(error) {
  quiet = true; // Reading a name off a trap is the harness's doing, not the payload's.
  try {
    return printable(isObject(error) ? text(error.name) + ': ' + text(error.message) : text(error));
  } catch {
    return 'unprintable';
  } finally {
    quiet = false;
  }
}

function done(value) {
  state = 'completed';
  leak(value, 'completion value');
  if (config.observe) completion = show(value);
}

/** Take the value that the wrapped payload evaluated to; `calls` says that its shape makes it a function to call. */
function settle(value, calls) {
  try {
    const result = calls && isFunction(value) ? value(firstArgument()) : value;
    if (isObject(result) && !capabilityOf(result) && !apply(weakGet, stubs, [result]) && isFunction(result.then)) {
      state = 'unsettled';
      new RealPromise((resolve) => { resolve(result); }).then(done, fail);
    } else {
      done(result);
    }
  } catch (error) {
    fail(error);
  }
}

/** Look for what the payload left behind, then freeze the log. Returns how the run ended, and its record if asked. */
function finish() {
  let observed = '';
  try {
    if (config.driving) fireEvents();
    if (config.observe) observed = '\n' + record();
    const names = ownKeys(G);
    for (let i = 0; i < names.length; i++) {
      const now = describe(G, names[i]);
      const before = known[names[i]];
      if (!now || !('value' in now) || (before && before.value === now.value)) continue;
      leak(now.value, 'global ' + text(names[i]), 1);
      const path = isObject(now.value) && apply(weakGet, stubs, [now.value]);
      if (path && config.keptByNobody.includes(path.slice(path.lastIndexOf('.') + 1))) hit('electron', 'leak', 'global ' + text(names[i]));
    }
    leak(argument, 'argument');
    reportTampering(tamperedRoots);
  } finally {
    frozen = true;
  }
  return state + '\t' + note + observed;
}
