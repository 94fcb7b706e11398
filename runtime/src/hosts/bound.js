// What a sink binds: names that are no globals, and the parameters of a payload that is a function.
import { apply, createDataProperty, isObject } from '../natives.js';
import { isForged } from '../shared.js';
import { isMade } from '../global.js';
import { bound as plain, v } from '../membrane.js';
import { given, isPlain } from './results.js';
import { bindings, fixtures, names, parameters } from './tables.js';

/** The value of the free name `name`, which a list may say something about, unless the payload has declared it. */
export function b(value, name) {
  const path = bindings[name] || names[name];
  return path === undefined || !isObject(value) || isMade(name) || isForged(name) ? plain(value) : bound(value, path);
}

/** A test runner hands its objects over as members of a plain one. */
function bound(value, path) {
  if (path !== fixtures.of) return given(value, path);
  if (!isPlain(value)) return given(value, fixtures.page);
  for (const name in fixtures.names) if (isObject(value[name])) given(value[name], fixtures.names[name]);
  return v(value);
}

/** Call the inner function of a payload of shape `function` with what the host gives. What is no function is the value itself. */
export function call(inner, self, args) {
  if (typeof inner !== 'function') return inner;
  const list = [];
  for (let i = 0; i < args.length; i++) {
    const path = parameters[i];
    createDataProperty(list, i, path === undefined || path === '' || !isObject(args[i]) ? v(args[i]) : bound(args[i], path));
  }
  return apply(inner, v(self), list);
}
