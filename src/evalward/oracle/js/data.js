// What a host's methods give where that is data, or an instance of a class: a stub is a function, which P' takes for a
// host object without a class. Only runs that are compared have these; the run of an escape meets stubs everywhere.

const stringPrototype = String.prototype;
const MAX_LISTS = 2;
const JOBS_OF_AN_ANSWER = 20;
const data = new WeakMap();

/** Data of which every read gives more: a list with one element, whose methods are those of lists and strings. */
function datum(path, depth, lists = 0) {
  const value = new RealProxy([], dataTraps(path, depth, lists));
  apply(weakSet, data, [value, path]);
  return value;
}

/** What a method gives that may be awaited or not: a promise of the data, which itself reads like the data. */
function dataLater(path, depth) {
  const value = RealPromise.resolve(datum(path, depth));
  reparent(value, new RealProxy([], dataTraps(path, depth, 0, true)));
  apply(weakSet, stubs, [value, path]);
  return value;
}

function dataTraps(path, depth, lists, awaitable = false) {
  const filled = (target) => {
    if (target.length === 0) target[0] = lists > MAX_LISTS ? path + '[]' : datum(path + '[]', depth + 1, lists + 1);
    return target;
  };
  return {
    __proto__: null,
    get(target, key, self) {
      if (key === Symbol.toPrimitive) return (hint) => (hint === 'number' ? 1 : 'stub');
      if (awaitable && hasOwn(RealPromise.prototype, key)) return RealPromise.prototype[key];
      if (key in filled(target)) return read(target, key, self);
      if (typeof key === 'symbol' || key === 'toJSON' || key === 'then' || depth > 12) return undefined;
      return key in stringPrototype ? stringPrototype[key] : datum(path + '.' + key, depth + 1);
    },
    has: (target, key) => key in filled(target),
    ownKeys: (target) => ownKeys(filled(target)),
    getOwnPropertyDescriptor: (target, key) => describe(filled(target), key),
  };
}

const classes = create(null);

/** A stub that is an instance of a class of the host's, by the name of the class. */
function instance(path, depth, name) {
  if (!classes[name]) {
    const made = class {};
    define(made, 'name', { value: name });
    classes[name] = made;
  }
  return stub(path, depth, false, create(classes[name].prototype));
}

/** A promise of what a page answers: that takes longer than any number of jobs by which P' differs from P. */
async function answered(value) {
  for (let i = 0; i < JOBS_OF_AN_ANSWER; i++) await undefined;
  return value;
}

const among = (path, list) => list.some((suffix) => path === suffix || path.endsWith('.' + suffix));
const classAt = (path, table) => ownKeys(table).find((name) => among(path, table[name]));

/** What a call of the stub at `path` gives where the host gives data, a promise of a list, or an instance of a class. */
function resultOf(path, depth, args) {
  if (!config.observe) return undefined;
  if (among(path, config.giveData)) return dataLater(path + '()', depth + 1);
  if (among(path, config.giveLists)) return RealPromise.resolve([stub(path + '()[]', depth + 1)]);
  const event = path.endsWith('.waitForEvent') ? String(args[0]) : '';
  const name = classAt(path, config.giveInstances) ?? classAt(event, config.eventInstances);
  if (name === 'Error') return RealPromise.resolve(new Error(path + '()'));
  return name && answered(instance(path + '()', depth + 1, name));
}

/** What a read of the member at `path` gives where that is a text, a list, or an instance of a class. */
function valueOf(path, depth) {
  if (!config.observe) return undefined;
  if (among(path, config.haveTexts)) return path;
  if (among(path, config.haveLists)) return [stub(path + '[]', depth + 1)];
  const name = classAt(path, config.haveInstances);
  return name && instance(path, depth + 1, name);
}
