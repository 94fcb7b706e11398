// Natives that only the hosts need, captured like those of natives.js, before anything else runs.
import { apply, G, isArray } from '../natives.js';
import { isForged } from '../forged.js';

const { Promise: PromiseCtor, Map: MapCtor, RegExp: RegExpCtor, String: StringCtor } = G;
const { resolve } = PromiseCtor;
const { then } = PromiseCtor.prototype;
const { forEach } = MapCtor.prototype;
const { exec } = RegExpCtor.prototype;
const { fromCharCode, prototype: { toLowerCase } } = StringCtor;
const { decodeURIComponent: decode } = G;

/** A promise of this realm for what `thenable` settles to, with `next` or `failed` in between. */
export const settle = (thenable, next, failed) => apply(then, apply(resolve, PromiseCtor, [thenable]), [next, failed]);

/** Call `see` with each element of an array or each value of a Map; another object has none. */
export function eachElement(container, see) {
  if (isArray(container)) {
    for (let i = 0; i < container.length; i++) see(container[i]);
    return;
  }
  try {
    apply(forEach, container, [(value) => see(value)]);
  } catch (error) {
    if (!(error instanceof TypeErrorCtor)) throw error;
  }
}

const { TypeError: TypeErrorCtor } = G;

const BufferCtor = isForged('Buffer') ? undefined : G.Buffer;
const bufferFrom = BufferCtor === undefined ? undefined : BufferCtor.from;

/** A copy of bytes, which nobody else can change; undefined where the realm has no Buffer. */
export const copyOfBytes = (bytes) => (bufferFrom === undefined ? undefined : apply(bufferFrom, BufferCtor, [bytes]));

/** What `pattern` finds in `text`, or null. The pattern's `exec` is the engine's, and it has no state. */
export const match = (pattern, text) => apply(exec, pattern, [text]);

export const lowerCase = (text) => apply(toLowerCase, text, []);

export const letter = (code) => apply(fromCharCode, StringCtor, [code]);

/** `text` without its percent escapes; `text` itself where they are broken. */
export function unescaped(text) {
  try {
    return decode(text);
  } catch {
    return text;
  }
}
