// The web's classes that Node and Electron have, to the extent that programs use them. Written here, in the payload's own realm.
// Only runs that are compared have them: the engines' contexts have none, and a stub is no class that P' knows.

class URLSearchParams {
  #list = [];
  #changed = () => {};
  constructor(from = '', changed = undefined) {
    const pairs = typeof from === 'string'
      ? from.replace(/^\?/, '').split('&').filter(Boolean).map((pair) => pair.split(/=(.*)/s).map((part) => decodeURIComponent(part.replace(/\+/g, ' '))))
      : isFunction(from[Symbol.iterator]) ? from : Object.entries(from);
    for (const [name, value = ''] of pairs) this.#list.push([String(name), String(value)]);
    if (changed) this.#changed = changed;
  }

  append(name, value) { this.#list.push([String(name), String(value)]); this.#changed(this); }
  delete(name) { this.#list = this.#list.filter((pair) => pair[0] !== String(name)); this.#changed(this); }
  get(name) { return this.getAll(name)[0] ?? null; }
  getAll(name) { return this.#list.filter((pair) => pair[0] === String(name)).map((pair) => pair[1]); }
  has(name) { return this.getAll(name).length > 0; }
  set(name, value) {
    const at = this.#list.findIndex((pair) => pair[0] === String(name));
    if (at < 0) return this.append(name, value);
    this.#list = this.#list.filter((pair, i) => i <= at || pair[0] !== String(name));
    this.#list[at][1] = String(value);
    return this.#changed(this);
  }

  sort() { this.#list.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0)); this.#changed(this); }
  forEach(see) { for (const [name, value] of this.#list) see(value, name, this); }
  keys() { return iterated(this.#list.map((pair) => pair[0])); }
  values() { return iterated(this.#list.map((pair) => pair[1])); }
  entries() { return iterated(this.#list.map((pair) => [...pair])); }
  [Symbol.iterator]() { return this.entries(); }
  get size() { return this.#list.length; }
  toString() { return this.#list.map((pair) => pair.map((part) => encodeURIComponent(part).replace(/%20/g, '+')).join('=')).join('&'); }
}

const steps = new WeakMap();
const iteratorPrototype = {
  __proto__: Object.getPrototypeOf(Object.getPrototypeOf([].values())),
  next() { return apply(weakGet, steps, [this])(); },
};

/** An iterator over `list` of a class of its own, as Web IDL has it: its `next` is no array's. */
function iterated(list) {
  const made = { __proto__: iteratorPrototype };
  let at = 0;
  apply(weakSet, steps, [made, () => (at < list.length ? { value: list[at++], done: false } : { value: undefined, done: true })]);
  return made;
}

const PARTS = /^([a-z][a-z0-9+.-]*:)(?:\/\/(?:([^/?#:@]*)(?::([^/?#@]*))?@)?([^/?#:]*)(?::(\d+))?)?([^?#]*)(\?[^#]*)?(#.*)?$/is;

class URL {
  static canParse(text, base) { try { return !!new URL(text, base); } catch { return false; } }
  static parse(text, base) { try { return new URL(text, base); } catch { return null; } }
  #parts;
  #query;
  constructor(text, base) { this.#read(text, base); }

  #read(text, base) {
    const given = String(text).trim();
    const parts = PARTS.exec(given) ?? PARTS.exec(base === undefined ? '' : URL.#joined(given, new URL(base)));
    if (!parts) throw new TypeError('Invalid URL');
    const [, protocol, username = '', password = '', hostname = '', port = '', pathname, search = '', hash = ''] = parts;
    const path = URL.#resolved(pathname || (hostname ? '/' : ''));
    this.#parts = { protocol: protocol.toLowerCase(), username, password, hostname: hostname.toLowerCase(), port, pathname: path };
    Object.assign(this.#parts, { search: search === '?' ? '' : search, hash: hash === '#' ? '' : hash });
    this.#query = undefined;
  }

  static #joined(given, base) {
    if (given.startsWith('//')) return base.protocol + given;
    if (given.startsWith('/')) return base.origin + given;
    if (given === '' || given.startsWith('#')) return base.origin + base.pathname + base.search + given;
    return base.origin + (given.startsWith('?') ? base.pathname : base.pathname.replace(/[^/]*$/, '')) + given;
  }

  /** A path without the segments `.` and `..`. */
  static #resolved(path) {
    if (!path.startsWith('/')) return path;
    const found = [];
    const given = path.slice(1).split('/');
    for (const [i, part] of given.entries()) {
      if (part === '..') found.pop();
      else if (part !== '.') found.push(part);
      if (i === given.length - 1 && (part === '..' || part === '.')) found.push('');
    }
    return '/' + found.join('/');
  }

  static #prefixed(mark, text) { return text === '' || text === mark ? '' : text.startsWith(mark) ? text : mark + text; }
  get protocol() { return this.#parts.protocol; }
  set protocol(value) { this.#parts.protocol = String(value).replace(/:?$/, ':'); }
  get username() { return this.#parts.username; }
  set username(value) { this.#parts.username = String(value); }
  get password() { return this.#parts.password; }
  set password(value) { this.#parts.password = String(value); }
  get hostname() { return this.#parts.hostname; }
  set hostname(value) { this.#parts.hostname = String(value); }
  get port() { return this.#parts.port; }
  set port(value) { this.#parts.port = String(value); }
  get pathname() { return this.#parts.pathname; }
  set pathname(value) { this.#parts.pathname = URL.#resolved(URL.#prefixed('/', String(value))); }
  get search() { return this.#parts.search; }
  set search(value) { this.#parts.search = URL.#prefixed('?', String(value)); this.#query = undefined; }
  get hash() { return this.#parts.hash; }
  set hash(value) { this.#parts.hash = URL.#prefixed('#', String(value)); }
  get host() { return this.hostname + (this.port && ':' + this.port); }
  set host(value) { [this.#parts.hostname, this.#parts.port = ''] = String(value).split(':'); }
  get origin() { return this.hostname ? this.protocol + '//' + this.host : 'null'; }
  get searchParams() {
    return this.#query ??= new URLSearchParams(this.search, (query) => { this.#parts.search = URL.#prefixed('?', String(query)); });
  }

  get href() {
    const user = this.username && this.username + (this.password && ':' + this.password) + '@';
    return this.protocol + (this.hostname ? '//' + user + this.host : '') + this.pathname + this.search + this.hash;
  }

  set href(value) { this.#read(value); }
  toString() { return this.href; }
  toJSON() { return this.href; }
}

const aborting = new WeakMap();

class AbortSignal {
  get aborted() { return aborting.has(this); }
  get reason() { return aborting.get(this); }
  addEventListener(type, listener) { if (this.aborted) listener.call(this, { type }); }
  removeEventListener() {}
  throwIfAborted() { if (this.aborted) throw this.reason; }
}

class AbortController {
  #signal = new AbortSignal();
  get signal() { return this.#signal; }
  abort(reason = new Error('aborted')) { aborting.set(this.#signal, reason); }
}

/** The classes instead of the stubs that the realm has under these names. */
function web() {
  const tag = (prototype, value) => define(prototype, Symbol.toStringTag, { value, configurable: true });
  tag(iteratorPrototype, 'URLSearchParams Iterator');
  for (const [name, value] of Object.entries({ URL, URLSearchParams, AbortSignal, AbortController })) {
    tag(value.prototype, name);
    if (config.stubs.includes('URL')) expose(name, value);
  }
}
