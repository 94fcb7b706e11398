/**
 * What a function of the page leaves on the objects that it was handed. The language reads methods, setters, species and heritages of a
 * payload's objects by itself: a native that the page has put there would be called without its rule. It becomes what the payload holds.
 */
import { createDataProperty, defineProperty, getPrototypeOf, isObject, ownDescriptor, ownKeys, setPrototypeOf } from '../natives.js';
import { deny } from '../denial.js';
import { isOpaque, isRuled, v } from '../membrane.js';
import { isOwn } from '../own.js';
import { kindOf } from './dom.js';

// Of larger ones nobody looks at each property twice.
const MOST = 500;
// How deep objects are looked for in the arguments, and how many.
const DEPTH = 3;
const WITHIN = 100;
const FIELDS = ['value', 'get', 'set'];

/** Whether the engine would call `f`, which is not the payload's, for a read or a write: what it gives may be a native. */
const isForeign = (f) => typeof f === 'function' && !isOwn(f) && v(f) !== f;

/** The properties of `x` that hold natives with rules, or accessors that are not the payload's; undefined for what is not looked at. */
const armed = (x) => {
  const keys = ownKeys(x);
  if (keys.length > MOST) return undefined;
  const found = { __proto__: null };
  for (let i = 0; i < keys.length; i++) {
    const property = ownDescriptor(x, keys[i]);
    if (property !== undefined && (isRuled(property.value) || isForeign(property.get) || isForeign(property.set))) found[keys[i]] = property;
  }
  return found;
};

const put = (x, key, property) => {
  for (let i = 0; i < FIELDS.length; i++) if (i > 0 ? isForeign(property[FIELDS[i]]) : isRuled(property.value)) property[FIELDS[i]] = v(property[FIELDS[i]]);
  if (!defineProperty(x, key, property)) deny('prototype-tampering', 'what a function of the page has put on an object');
};

const disarm = ({ x, above, before }) => {
  const now = armed(x);
  const keys = now === undefined ? [] : ownKeys(now);
  for (let i = 0; i < keys.length; i++) {
    const property = now[keys[i]];
    const old = before[keys[i]];
    if (old === undefined || old.value !== property.value || old.get !== property.get || old.set !== property.set) put(x, keys[i], property);
  }
  const parent = getPrototypeOf(x);
  if (parent !== above && isRuled(parent)) setPrototypeOf(x, v(parent));
};

/** Add what is known of `x`, and of what lies in it, to `watched`; `depth` says how deep `x` lies in an argument. */
const watch = (x, watched, depth) => {
  if (!isObject(x) || (typeof x === 'function' ? !isOwn(x) : isOpaque(x) || kindOf(x) !== 0)) return;
  const before = armed(x);
  if (before === undefined) return;
  createDataProperty(watched, watched.length, { __proto__: null, x, above: getPrototypeOf(x), before });
  const keys = depth < DEPTH && watched.length < WITHIN ? ownKeys(x) : [];
  for (let i = 0; i < keys.length && watched.length < WITHIN; i++) watch(ownDescriptor(x, keys[i])?.value, watched, depth + 1);
};

/** Call `run`, a function of the page that gets `self` and `args`, and make safe what it leaves on these and in the arguments. */
export const disarmed = (self, args, run) => {
  const watched = [];
  watch(self, watched, DEPTH);
  for (let i = 0; i < args.length; i++) watch(args[i], watched, 0);
  try {
    return run();
  } finally {
    for (let i = 0; i < watched.length; i++) disarm(watched[i]);
  }
};
