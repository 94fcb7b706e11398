// Denials. The first one ends the program: whatever runs afterwards gets the same denial again.
import { ErrorCtor, defineProperty, apply, charCodeAt, stringSlice, stringIndexOf, stringLastIndexOf } from './natives.js';

let construct;
let denial;

/** Whether a denial has ended the program. */
export let dead = false;

// What ends with the program: its promise would wait for functions that are not called any more.
const waiting = { __proto__: null, length: 0 };

/** Call `reject` with the denial when the program ends by one. */
export const onDenial = (reject) => { waiting[waiting.length++] = reject; };

/** Forget what was remembered about functions: something about them has changed. */
let forget = () => {};
export const onChange = (f) => { forget = f; };
export const changed = () => { forget(); };

/**
 * Deny `label`, a construct of constructs.md, and end the program.
 * @param {string} label
 * @param {string} [reason] a short static text; never anything of the payload
 * @throws {Error} named EvalwardDenied
 */
export function deny(label, reason) {
  if (!dead) {
    // Before the error is made: a stack overflow while it is made must not leave the program alive.
    construct = reason === undefined ? label : label + ': ' + reason;
    dead = true;
    changed();
    denial = makeDenial(label);
    for (let i = 0; i < waiting.length; i++) waiting[i](denial);
  }
  throw again();
}

/** The denial that ended the program; made now if there was no room on the stack before. */
function again() {
  return denial || (denial = makeDenial(construct));
}

/** @throws the denial, if there was one */
export function checkAlive() {
  if (dead) throw again();
}

function makeDenial(label) {
  const error = new ErrorCtor('evalward denied ' + construct);
  const fields = { __proto__: null, name: 'EvalwardDenied', construct: label, line: lineOfPayload(error) };
  for (const key in fields) {
    if (fields[key] !== undefined) defineProperty(error, key, { __proto__: null, value: fields[key], writable: true, configurable: true });
  }
  return error;
}

// An error from the end of the run-time's text, which an entry provides: the payload's frames are those that lie after it. It is
// made with the first denial, because to capture a stack takes longer than all else at the start.
let makeOrigin;
export const onOrigin = (make) => { makeOrigin = make; };

/**
 * The line of P from which the run-time was called. V8 and QuickJS both write a frame as `at name (file:line:column)`;
 * QuickJS may leave the column out. The run-time is in the head, so its own frames lie before its end.
 */
function lineOfPayload(error) {
  const head = makeOrigin === undefined ? undefined : frames(makeOrigin().stack, 1)[0];
  if (head === undefined || typeof CONFIG.body !== 'number') return undefined;
  const all = frames(error.stack, 50);
  for (let i = 0; i < all.length; i++) {
    const { file, line, column } = all[i];
    if (file !== head.file || line < head.line || (line === head.line && column <= head.column)) continue;
    return line - head.line - CONFIG.body + 2;
  }
  return undefined;
}

/** The places that a stack names, `most` at most. */
function frames(stack, most) {
  const places = { __proto__: null, length: 0 };
  if (typeof stack !== 'string') return places;
  for (let at = 0; at < stack.length && places.length < most;) {
    let end = apply(stringIndexOf, stack, ['\n', at]);
    if (end < 0) end = stack.length;
    const place = placeOf(apply(stringSlice, stack, [at, end]));
    at = end + 1;
    if (place !== undefined) places[places.length++] = place;
  }
  return places;
}

function placeOf(frame) {
  if (apply(stringIndexOf, frame, ['    at ']) !== 0) return undefined;
  let end = frame.length;
  if (frame[end - 1] === ')') end--;
  const last = numberBefore(frame, end);
  if (last === undefined) return undefined;
  const first = numberBefore(frame, last.from);
  const { value: line, from } = first || last;
  const open = apply(stringLastIndexOf, frame, ['(', from]);
  const file = apply(stringSlice, frame, [open < 0 ? 7 : open + 1, from]);
  return { __proto__: null, line, column: first === undefined ? 0 : last.value, file };
}

/** The number that ends before `end` and follows a colon; `from` is where the colon is. */
function numberBefore(text, end) {
  let value = 0;
  let scale = 1;
  for (let i = end - 1; i > 0; i--) {
    const code = apply(charCodeAt, text, [i]);
    if (code === 58 && scale > 1) return { __proto__: null, value, from: i };
    if (code < 48 || code > 57) return undefined;
    value += (code - 48) * scale;
    scale *= 10;
  }
  return undefined;
}
