// Where control leaves: a denial is thrown again, and no capability leaves with the completion value.
import { apply, defineProperty, hasOwn, isObject, getPrototypeOf, ownDescriptor, ownKeys, PromiseCtor, PromisePrototype, then } from './natives.js';
import { checkAlive, dead, deny, onDenial } from './denial.js';
import { labelOf, outside, v } from './membrane.js';

const DEPTH = 4;
const MOST = 500;

/** The value of `catch`. */
export function ca(error) {
  if (dead) checkAlive();
  return v(error);
}

/** The start of `finally`. */
export const fi = checkAlive;

/** The completion value. A promise is checked when it is fulfilled. */
export function end(value) {
  if (dead) checkAlive();
  value = v(value);
  if (!isObject(value)) return value;
  if (typeof value === 'object' && isPromise(value)) return settled(value);
  look(value, DEPTH, { __proto__: null, left: MOST });
  return outside(value);
}

/** A promise of the realm that settles as `promise` does, if its value may leave. */
function settled(promise) {
  return new PromiseCtor((resolve, reject) => {
    const finish = (settle, check) => (value) => {
      try {
        settle(check(value));
      } catch (error) {
        reject(error);
      }
    };
    apply(then, promise, [finish(resolve, end), finish(reject, ca)]);
    onDenial(reject);
  });
}

function isPromise(value) {
  for (let q = value, depth = 0; q !== null && depth < 20; depth++) {
    if (labelOf(q) !== undefined) return false;
    if (q === PromisePrototype) return true;
    q = getPrototypeOf(q);
  }
  return false;
}

/**
 * Deny a facade or a stand-in among the own properties of `value`, some levels deep. No getter runs. A host's object that may
 * leave does so as itself: whoever gets the value has that object, not the facade.
 */
function look(value, depth, budget) {
  const label = labelOf(value);
  if (label !== undefined) deny(label, 'the completion value');
  if (depth === 0 || budget.left-- <= 0 || outside(value) !== value) return;
  const keys = ownKeys(value);
  for (let i = 0; i < keys.length && budget.left > 0; i++) {
    const property = ownDescriptor(value, keys[i]);
    if (property === undefined || !hasOwn(property, 'value') || keys[i] === 'constructor') continue;
    const inner = v(property.value);
    if (!isObject(inner)) continue;
    look(inner, depth - 1, budget);
    if (outside(inner) !== inner && property.writable) defineProperty(value, keys[i], { __proto__: null, value: outside(inner) });
  }
}
