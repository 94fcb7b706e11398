// A facade: what the payload holds instead of a host object. A Proxy whose traps go by the catalogue's lists.
import {
  apply, construct, createDataProperty, deleteProperty, functionBind, FunctionPrototype, get, getPrototypeOf, has, hasOwn, isObject,
  newProxy, ObjectPrototype, ownDescriptor, ownKeys, reflectSet, stringIndexOf, weakMap,
} from '../natives.js';
import { deny, denied, standIn, v } from '../membrane.js';
import { assertOpen } from '../protection.js';
import { setOwn } from '../writes.js';
import { listArguments, outgoing } from './arguments.js';
import { asserted, linked, realFor } from './assertions.js';
import { behind, facadeOf, onFacade, putBehind } from './behind.js';
import { match } from './captured.js';
import { judgeOptions, judgeSetting } from './options.js';
import { isDataMethod, methodOf, symbolMember, thenMember } from './methods.js';
import { classOf, copied, given } from './results.js';
import { tableOf } from './tables.js';

const facades = weakMap();

/**
 * One facade for each real object; data becomes a host object once a list says which, and a handle, whose class does not
 * tell it, one of Electron's main process.
 */
onFacade((real, path, family, element) => {
  const known = facades.get(real);
  const table = tableOf(path);
  if (known !== undefined) {
    if (path !== '' && (known.table.path === '' || (table.route === 'main' && known.table.route !== 'main'))) {
      known.table = table;
      known.family = table.family;
    }
    return known.facade;
  }
  const target = targetOf(real);
  const facade = newProxy(target, traps);
  const facts = { __proto__: null, real, table, family: family || table.family, element, facade };
  putBehind(target, facts);
  putBehind(facade, facts);
  facades.set(real, facts);
  return standIn(real, facade, path === 'process' || path === 'process.env' ? 'process' : null);
});

/** The Proxy's target: without own properties, so that the traps may answer as they like (ECMA-262 §10.5). */
function targetOf(real) {
  if (typeof real !== 'function') return {};
  const target = apply(functionBind, function () {}, [undefined]);
  deleteProperty(target, 'length');
  deleteProperty(target, 'name');
  return target;
}

/** The construct that denies a member which is not listed. */
const labelOf = (facts, key) => {
  const { others } = facts.table;
  if (others === 'deny') return facts.table.path + '.' + key;
  return others === '' ? facts.family : others;
};

const isHidden = ({ hidden, open }, key) => hidden[key] === true || (hidden['*'] === true && open[key] !== true);

const unreads = { __proto__: null };

/** A stand-in for what is not even read, because reading it may show something. */
const unread = (label) => unreads[label] || (unreads[label] = denied(function () {}, label));

const unreadObjects = { __proto__: null };

/** The same for an object of a host object's that no list names: it may hold what the host was started with. */
const unreadObject = (label) => unreadObjects[label] || (unreadObjects[label] = denied({ __proto__: null, constructor: unread(label) }, label));

/** An object of a listed class is that; what else a host keeps in its objects is its own. */
function unlistedObject(facts, raw) {
  const path = classOf(raw);
  return path === undefined ? unreadObject(facts.family) : given(raw, path);
}

/** What the payload gets for a denied member: feature tests work, use denies; data may not even be read. */
function deniedMember(facts, key, label) {
  if (isHidden(facts.table, key)) deny(label);
  if (facts.table.others === 'deny') return has(facts.real, key) ? unread(label) : undefined;
  const raw = get(facts.real, key);
  if (raw === undefined) return undefined;
  return isObject(raw) ? denied(raw, label) : deny(label);
}

const isIndex = (key) => key.length < 7 && match(/^\d+$/, key) !== null;

/** What the payload gets for a member that no list names: data, of which nothing may be called. */
function unlistedMember(facts, key) {
  if (facts.element !== undefined && isIndex(key)) return given(get(facts.real, key), facts.element);
  if (facts.table.others !== '') return deniedMember(facts, key, labelOf(facts, key));
  const raw = get(facts.real, key);
  if (typeof raw !== 'function') return isObject(raw) && !facts.table.isData ? unlistedObject(facts, raw) : copied(raw);
  return isDataMethod(facts.real, key, facts.element) ? methodOf(raw, key, facts.table, facts.element) : facadeOf(raw, '', facts.family);
}

const startsWith = (key, prefix) => prefix !== undefined && apply(stringIndexOf, key, [prefix]) === 0;

function member(facts, key) {
  const { real, table } = facts;
  const label = table.denied[key];
  if (label !== undefined) return deniedMember(facts, key, label);
  if (table.methods[key] !== undefined) {
    const raw = get(realFor(facts, key), key);
    return typeof raw === 'function' ? methodOf(raw, key, table) : copied(raw);
  }
  const type = startsWith(key, table.prefix) ? '' : table.values[key];
  if (type !== undefined) {
    const held = get(real, key);
    const safe = type === '' ? copied(held) : given(held, type);
    return facts.compared === undefined ? safe : linked(safe, get(facts.compared, key), facts.about);
  }
  if (key === 'then' || key === 'catch' || key === 'finally') return thenMember(facts, key);
  if (key === 'constructor') return constructorOf(facts);
  if (key === 'prototype' && typeof real === 'function') return prototypeOf(facts);
  if (typeof real === 'function' && hasOwn(FunctionPrototype, key)) return functionMember(facts, key);
  if (key !== '__proto__' && hasOwn(ObjectPrototype, key)) return inherited(facts, key);
  if (key === '__proto__') return getPrototypeOf(facts.facade);
  return unlistedMember(facts, key);
}

/** The prototype of a class: the facades of its instances inherit from it, so that `instanceof` works. */
function prototypeOf(facts) {
  const raw = get(facts.real, 'prototype');
  return isObject(raw) ? facadeOf(raw, facts.table.instance || '', facts.family) : raw;
}

function constructorOf(facts) {
  if (isHidden(facts.table, 'constructor')) deny(facts.family);
  const maker = get(facts.real, 'constructor');
  return typeof maker === 'function' ? denied(maker, labelOf(facts, 'constructor')) : undefined;
}

/** What every function has, where the host's object is one. */
function functionMember(facts, key) {
  if (key === 'caller' || key === 'arguments') return undefined;
  if (key !== 'name' && key !== 'length') return inherited(facts, key);
  return copied(get(facts.real, key));
}

/** What Object.prototype and Function.prototype give; a conversion of the host's own is called for its text alone. */
function inherited(facts, key) {
  const raw = get(facts.real, key);
  const ordinary = hasOwn(ObjectPrototype, key) ? ObjectPrototype : FunctionPrototype;
  if (typeof raw === 'function' && raw !== get(ordinary, key) && (key === 'toString' || key === 'toLocaleString')) {
    return methodOf(raw, key, facts.table);
  }
  return v(get(ordinary, key));
}

const refuse = (target) => {
  const { table, family } = behind(target);
  return deny(table.others === '' || table.others === 'deny' ? family : table.others, 'the host\'s objects are read-only');
};

const traps = {
  __proto__: null,
  get(target, key) {
    const facts = behind(target);
    return typeof key === 'symbol' ? symbolMember(facts, key) : member(facts, key);
  },
  set(target, key, value, receiver) {
    const { real, table, facade } = behind(target);
    if (receiver !== facade) return createOn(receiver, key, value);
    if (table.settings && !isObject(value)) {
      judgeSetting(key, value);
      return reflectSet(real, key, value);
    }
    if (table.writable[key] === true) return reflectSet(real, key, outgoing(value));
    if (table.values[key] !== '' || isObject(value) || table.hidden['*'] === true) refuse(target);
    return reflectSet(real, key, value);
  },
  has(target, key) {
    const { real, table, family } = behind(target);
    if (typeof key === 'string' && table.values[key] === undefined && isHidden(table, key) && !hasOwn(ObjectPrototype, key)) deny(family);
    return has(real, key);
  },
  ownKeys(target) {
    const { real, table, family } = behind(target);
    if (table.hidden['*'] === true) deny(family);
    return strings(ownKeys(real));
  },
  getOwnPropertyDescriptor(target, key) {
    const facts = behind(target);
    if (typeof key === 'symbol' || key === 'constructor') return undefined;
    if (isHidden(facts.table, key) && facts.table.values[key] === undefined) deny(facts.family);
    const property = ownDescriptor(facts.real, key);
    if (property === undefined) return undefined;
    return { __proto__: null, value: member(facts, key), writable: true, enumerable: property.enumerable, configurable: true };
  },
  getPrototypeOf(target) {
    const { real, table } = behind(target);
    const prototype = getPrototypeOf(real);
    if (prototype === null || prototype === ObjectPrototype || prototype === FunctionPrototype) return v(prototype);
    return facadeOf(prototype, typeof real === 'function' ? '' : table.path);
  },
  apply(target, self, args) {
    const { real, table, family } = behind(target);
    if (table.result === undefined) deny(family, 'a function of the host that no list names');
    const call = (list) => apply(real, undefined, list);
    const list = listArguments(args, '', table);
    return table.compares ? asserted(call, list, args, table.result) : given(call(list), table.result);
  },
  construct(target, args, newTarget) {
    const { real, table, family, facade } = behind(target);
    if (table.instance === undefined) deny(family, 'a class of the host that no list names');
    if (newTarget !== facade) deny(family, 'a subclass of a host\'s class');
    const list = listArguments(args, '', table);
    if (table.options) judgeOptions(list[0]);
    return given(construct(real, list), table.instance);
  },
  defineProperty: refuse,
  deleteProperty(target, key) {
    const { real, table } = behind(target);
    return table.removable[key] === true ? deleteProperty(real, key) : refuse(target);
  },
  setPrototypeOf: refuse,
  preventExtensions: refuse,
};

/** [[Set]] of an object that inherits from a facade: the object gets a property of its own. */
function createOn(receiver, key, value) {
  if (!isObject(receiver)) return false;
  assertOpen(receiver);
  return setOwn(receiver, key, value);
}

function strings(keys) {
  const found = [];
  for (let i = 0; i < keys.length; i++) if (typeof keys[i] === 'string') createDataProperty(found, found.length, keys[i]);
  return found;
}

