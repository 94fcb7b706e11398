// Natives that only the hosts need, captured like those of natives.js, before anything else runs.
import { apply, G, isArray } from '../natives.js';
import { isForged } from '../shared.js';

const { Promise: PromiseCtor, Map: MapCtor, RegExp: RegExpCtor, String: StringCtor } = G;
const { resolve } = PromiseCtor;
const { then } = PromiseCtor.prototype;
const { forEach } = MapCtor.prototype;
const { exec } = RegExpCtor.prototype;
const { fromCharCode, prototype: { toLowerCase } } = StringCtor;

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

const { JSON: Json } = G;
const { parse, stringify } = Json;

/** The JSON text of data, undefined where it has none. */
export const textOfData = (data) => apply(stringify, Json, [data]);

/** The data that a JSON text means. */
export const dataOfText = (text) => apply(parse, Json, [text]);

/** Whether `text` is JSON, which means nothing but data to a page that runs it as a script. */
export function isJson(text) {
  try {
    dataOfText(text);
    return true;
  } catch {
    return false;
  }
}

/** What `pattern` finds in `text`, or null. The pattern's `exec` is the engine's, and it has no state. */
export const match = (pattern, text) => apply(exec, pattern, [text]);

const ASCII = /^[\0-\x7f]*$/;

/** `text` with ASCII's letters in lower case, and no other: lower case of Unicode makes ASCII of other letters, and two of one. */
export function lowerCase(text) {
  if (match(ASCII, text) !== null) return apply(toLowerCase, text, []);
  let out = '';
  for (let i = 0; i < text.length; i++) out += text[i] < '\x80' ? apply(toLowerCase, text[i], []) : text[i];
  return out;
}

export const letter = (code) => apply(fromCharCode, StringCtor, [code]);
