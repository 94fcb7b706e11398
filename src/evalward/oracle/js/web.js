// The web's classes that Node and Electron have, to the extent that programs use them. Written here, in the payload's own realm.
// Only runs that are compared have them: the engines' contexts have none, and a stub is no class that P' knows.

class URLSearchParams {
  #list = [];
  constructor(from = '') {
    const pairs = typeof from === 'string'
      ? from.replace(/^\?/, '').split('&').filter(Boolean).map((pair) => pair.split(/=(.*)/s).map((part) => decodeURIComponent(part.replace(/\+/g, ' '))))
      : isFunction(from[Symbol.iterator]) ? from : Object.entries(from);
    for (const [name, value = ''] of pairs) this.append(name, value);
  }

  append(name, value) { this.#list.push([String(name), String(value)]); }
  delete(name) { this.#list = this.#list.filter((pair) => pair[0] !== String(name)); }
  get(name) { return this.getAll(name)[0] ?? null; }
  getAll(name) { return this.#list.filter((pair) => pair[0] === String(name)).map((pair) => pair[1]); }
  has(name) { return this.getAll(name).length > 0; }
  set(name, value) { this.delete(name); this.append(name, value); }
  sort() { this.#list.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0)); }
  forEach(see) { for (const [name, value] of this.#list) see(value, name, this); }
  keys() { return this.#list.map((pair) => pair[0]).values(); }
  values() { return this.#list.map((pair) => pair[1]).values(); }
  entries() { return this.#list.map((pair) => [...pair]).values(); }
  [Symbol.iterator]() { return this.entries(); }
  get size() { return this.#list.length; }
  toString() { return this.#list.map((pair) => pair.map((part) => encodeURIComponent(part).replace(/%20/g, '+')).join('=')).join('&'); }
}

const PARTS = /^([a-z][a-z0-9+.-]*:)(?:\/\/(?:([^/?#:@]*)(?::([^/?#@]*))?@)?([^/?#:]*)(?::(\d+))?)?([^?#]*)(\?[^#]*)?(#.*)?$/is;

class URL {
  static canParse(text, base) { try { return !!new URL(text, base); } catch { return false; } }
  static parse(text, base) { try { return new URL(text, base); } catch { return null; } }
  constructor(text, base) {
    const given = String(text).trim();
    const parts = PARTS.exec(given) ?? PARTS.exec(base === undefined ? '' : URL.#joined(given, new URL(base)));
    if (!parts) throw new TypeError('Invalid URL');
    const [, protocol, username = '', password = '', hostname = '', port = '', pathname, search = '', hash = ''] = parts;
    Object.assign(this, { protocol: protocol.toLowerCase(), username, password, hostname: hostname.toLowerCase(), port });
    Object.assign(this, { pathname: pathname || (hostname ? '/' : ''), search: search === '?' ? '' : search, hash: hash === '#' ? '' : hash });
  }

  static #joined(given, base) {
    if (given.startsWith('//')) return base.protocol + given;
    if (given.startsWith('/')) return base.origin + given;
    if (given === '' || given.startsWith('#')) return base.origin + base.pathname + base.search + given;
    return base.origin + (given.startsWith('?') ? base.pathname : base.pathname.replace(/[^/]*$/, '')) + given;
  }

  get host() { return this.hostname + (this.port && ':' + this.port); }
  get origin() { return this.hostname ? this.protocol + '//' + this.host : 'null'; }
  get searchParams() { return new URLSearchParams(this.search); }
  get href() { return (this.hostname ? this.origin : this.protocol) + this.pathname + this.search + this.hash; }
  toString() { return this.href; }
  toJSON() { return this.href; }
}

class AbortSignal {
  aborted = false;
  reason = undefined;
  addEventListener(type, listener) { if (this.aborted) listener.call(this, { type }); }
  removeEventListener() {}
  throwIfAborted() { if (this.aborted) throw this.reason; }
}

class AbortController {
  signal = new AbortSignal();
  abort(reason = new Error('aborted')) { Object.assign(this.signal, { aborted: true, reason }); }
}

/** The classes instead of the stubs that the realm has under these names. */
function web() {
  for (const [name, value] of Object.entries({ URL, URLSearchParams, AbortSignal, AbortController })) {
    if (config.stubs.includes('URL')) expose(name, value);
  }
}
