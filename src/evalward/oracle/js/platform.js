// What every host gives besides the language: timers, base64, text codecs, console. Written here, in the payload's
// own realm, because an object lent by the host would lend its constructor too.

const MAX_LATER = 200;
let laterCount = 0;

/** Run a callback after the payload, as a microtask: delays do not matter to what is reached. */
function later(callback, args, name) {
  if (capabilityOf(callback)) hit(capabilityOf(callback), 'call', name);
  if (!isFunction(callback) || ++laterCount > MAX_LATER) return;
  apply(then, apply(then, RealPromise.resolve(), [() => apply(callback, undefined, args)]), [undefined, () => {}]);
}

function timers() {
  const timer = (name) => function (callback, _delay, ...args) {
    if (isFunction(callback)) later(callback, args, name);
    else if (callback !== undefined && callback !== null) {
      const source = text(callback);
      hit('timer-string', 'call', name);
      later(() => globalEval(source), [], name);
    }
    return 1;
  };
  for (const name of ['setTimeout', 'setInterval', 'setImmediate', 'requestAnimationFrame', 'requestIdleCallback']) {
    expose(name, timer(name));
  }
  expose('queueMicrotask', (callback) => later(callback, [], 'queueMicrotask'));
  for (const name of ['clearTimeout', 'clearInterval', 'clearImmediate', 'cancelAnimationFrame']) expose(name, () => {});
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

function atob(encoded) {
  const input = String(encoded).replace(/[\s=]/g, '').replace(/-/g, '+').replace(/_/g, '/');
  let out = '';
  for (let i = 0, bits = 0, held = 0; i < input.length; i++) {
    bits = (bits << 6) | ALPHABET.indexOf(input[i]);
    held += 6;
    if (held >= 8) { held -= 8; out += String.fromCharCode((bits >> held) & 255); bits &= (1 << held) - 1; }
  }
  return out;
}

function btoa(raw) {
  const input = String(raw);
  let out = '';
  for (let i = 0; i < input.length; i += 3) {
    const [a, b, c] = [input.charCodeAt(i), input.charCodeAt(i + 1), input.charCodeAt(i + 2)];
    out += ALPHABET[a >> 2] + ALPHABET[((a & 3) << 4) | (b >> 4)];
    out += i + 1 < input.length ? ALPHABET[((b & 15) << 2) | (c >> 6)] : '=';
    out += i + 2 < input.length ? ALPHABET[c & 63] : '=';
  }
  return out;
}

const toBytes = (string) => Array.from(unescape(encodeURIComponent(string)), (c) => c.charCodeAt(0));
const fromBytes = (bytes) => decodeURIComponent(escape(String.fromCharCode(...bytes)));

class Buffer extends Uint8Array {
  static from(value, encoding) {
    let bytes = value;
    if (typeof value === 'string') {
      if (encoding === 'hex') bytes = (value.match(/../g) || []).map((pair) => parseInt(pair, 16));
      else if (encoding === 'base64' || encoding === 'base64url') bytes = Array.from(atob(value), (c) => c.charCodeAt(0));
      else if (encoding === 'latin1' || encoding === 'binary' || encoding === 'ascii') bytes = Array.from(value, (c) => c.charCodeAt(0));
      else bytes = toBytes(value);
    }
    return new Buffer(Array.from(bytes));
  }

  static alloc(size) { return new Buffer(size); }
  static isBuffer(value) { return value instanceof Buffer; }
  static concat(list) { return Buffer.from(list.flatMap((part) => Array.from(part))); }
  static byteLength(value) { return toBytes(String(value)).length; }

  toString(encoding) {
    if (encoding === 'hex') return Array.from(this, (byte) => byte.toString(16).padStart(2, '0')).join('');
    const raw = String.fromCharCode(...this);
    if (encoding === 'base64') return btoa(raw);
    return encoding === 'latin1' || encoding === 'binary' || encoding === 'ascii' ? raw : fromBytes(this);
  }
}

class TextEncoder { encode(string = '') { return new Uint8Array(toBytes(string)); } }
class TextDecoder { decode(bytes = []) { return fromBytes(bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes); } }

function platform() {
  timers();
  for (const each of [TextEncoder, TextDecoder]) tagged(each, each.name);
  for (const [name, value] of Object.entries({ atob, btoa, Buffer, TextEncoder, TextDecoder })) expose(name, value);
  expose('structuredClone', (value) => (value === undefined ? value : JSON.parse(JSON.stringify(value))));
  const output = {};
  for (const level of ['log', 'info', 'warn', 'error', 'debug', 'trace', 'table', 'dir', 'group', 'groupEnd', 'time', 'timeEnd', 'count']) {
    output[level] = (...args) => {
      notice('console.' + level, args);
      if (config.keepNothing.includes('console.' + level)) return;
      for (let i = 0; i < args.length; i++) leak(args[i], 'console.' + level, 1);
    };
  }
  expose('console', output);
}
