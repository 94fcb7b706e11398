// Install the traps that `config` asks for, then follow one payload from its value to the end.

const tamperedRoots = [];

function install() {
  // Before any stub exists, so that the photograph shows the language alone.
  trapFunctionConstructors();
  trapTampering();
  trapWebAssembly();
  mark(G, 'global');
  if (config.platform) platform();
  for (const name of config.globalNames) define(G, name, { configurable: true, get: () => G, set() {} });
  expose('process', processTrap());
  for (const [name, capability] of config.recorders) expose(name, recorder(capability, name));
  for (const name of config.stubs) expose(name, stub(name));
  for (const [name, path] of config.bindings) expose(name, path === 'json' ? JSON.parse(config.arg) : stub(path));
  tamperedRoots.push(...photographPrototypes());
  for (const name of ownKeys(G)) known[name] = describe(G, name);
}

const known = create(null);
let state = 'running';
let argument;

/** What a `function` payload is called with: the host's object where the sink binds one, else the JSON argument. */
function firstArgument() {
  argument = config.first ? stub(config.first) : JSON.parse(config.arg);
  return argument;
}

function fail(error) {
  state = 'threw';
  leak(error, 'thrown value', 1);
  note = describeError(error);
}

let note = '';

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

/** Look for what the payload left behind, then freeze the log. Returns how the run ended. */
function finish() {
  try {
    const names = ownKeys(G);
    for (let i = 0; i < names.length; i++) {
      const now = describe(G, names[i]);
      const before = known[names[i]];
      if (now && 'value' in now && (!before || before.value !== now.value)) leak(now.value, 'global ' + text(names[i]), 1);
    }
    leak(argument, 'argument');
    reportTampering(tamperedRoots);
  } finally {
    frozen = true;
  }
  return state + '\t' + note;
}
