/** Checks of the caller's values, before anything is sent: an error names the field and never its value. */

import type { Code } from './envelope.js';
import { isRecord } from './envelope.js';
import type { Harden } from './protocol.js';

/** A request that cannot be built; the message names the field and never repeats its value. */
export class Unbuilt extends Error {
  constructor(
    readonly code: Code,
    message: string,
    readonly details: Readonly<Record<string, unknown>>,
  ) {
    super(message);
  }
}

export function payload(field: string, value: unknown): Buffer {
  if (typeof value !== 'string') throw invalid(field, 'takes a string');
  // A lone surrogate has no UTF-8 form, so the judged bytes would differ from the text that runs.
  if (!value.isWellFormed()) {
    throw new Unbuilt('EVAL_BAD_ENCODING', `${field} has a lone surrogate.`, { field: pointerTo(field) });
  }
  const sent = Buffer.from(value, 'utf8');
  const [limit, most] = MOST[field] ?? ['', Infinity];
  if (sent.length > most) {
    throw new Unbuilt(
      'EVAL_PAYLOAD_TOO_LARGE',
      `The request is not sent: ${field} has ${String(sent.length)} bytes, and no server takes more than ${String(most)}.`,
      { field: pointerTo(field), limit, limit_value: most, actual: sent.length },
    );
  }
  return sent;
}

const MOST_PAYLOAD_BYTES = 8 * 1024 * 1024;
// The most that any policy can allow; the arguments of a tool call may be four times as long, since JSON escapes are
// longer than the characters that they encode.
const MOST: { readonly [field: string]: readonly [string, number] } = {
  code: ['payload_bytes', MOST_PAYLOAD_BYTES],
  arguments_json: ['arguments_bytes', 4 * MOST_PAYLOAD_BYTES],
};

// The names that options have in the request.
const RENAMED: { readonly [option: string]: string } = {
  sessionId: 'session_id',
  includeContext: 'include_context',
  judgedFieldsOnly: 'judged_fields_only',
  guardLimits: 'guard_limits',
  stopOnFirst: 'stop_on_first',
  argument: 'argument_json',
  decisionId: 'decision_id',
};

/** Return the RFC 6901 JSON Pointer to what `field` becomes in the request. */
function pointerTo(field: string): string {
  const [name = '', ...rest] = field.split('.');
  return ['', RENAMED[name] ?? name, ...rest].join('/');
}

/** Reject unknown names: a misspelt `profile` must not weaken the request. */
export function only<T extends object>(known: readonly string[], options: T): T {
  if (!isRecord(options)) throw invalid('options', 'takes an object');
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) throw invalid('options', 'has an unknown name', known);
  }
  return options;
}

export function member(field: string, value: unknown, allowed: readonly string[]): string {
  if (typeof value !== 'string' || !allowed.includes(value)) throw invalid(field, 'has no such value', allowed);
  return `${field}_${value}`.toUpperCase();
}

export function optional<F extends string>(
  field: F,
  value: unknown,
  allowed: readonly string[],
): { [name in F]?: string } {
  return (value === undefined ? {} : { [field]: member(field, value, allowed) }) as { [name in F]?: string };
}

export function text(field: string, value: unknown): string {
  if (typeof value !== 'string' || !value.isWellFormed()) throw invalid(field, 'takes a well-formed string');
  return value;
}

export function name(field: string, value: unknown): string {
  if (text(field, value) === '') throw invalid(field, 'takes a name');
  return value as string;
}

export function textMap(field: string, value: unknown = {}): Record<string, string> {
  if (!isRecord(value)) throw invalid(field, 'takes an object of strings');
  return Object.fromEntries(Object.entries(value).map(([name, to]) => [text(field, name), text(field, to)]));
}

export function count(field: string, value: unknown): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw invalid(field, 'takes a whole number from 0');
  return value as number;
}

export function counts(field: string, value: unknown, names: readonly string[]): Record<string, number> {
  if (!isRecord(value)) throw invalid(field, 'takes an object of numbers', names);
  only(names, value);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, limit]) => limit !== undefined)
      .map(([name, limit]) => [name, count(`${field}.${name}`, limit)]),
  );
}

export function flag(field: string, value: unknown): boolean {
  if (value !== undefined && typeof value !== 'boolean') throw invalid(field, 'takes true or false');
  return value ?? false;
}

/** Return the field of the request: true requires a hardened program, false declines it, undefined leaves it open. */
export function hardening(value: unknown): { harden?: Harden } {
  if (value === undefined) return {};
  return { harden: flag('harden', value) ? 'HARDEN_REQUIRED' : 'HARDEN_OFF' };
}

export function json(field: string, value: unknown): Buffer {
  let serialised: string | undefined;
  try {
    serialised = JSON.stringify(value);
  } catch {
    throw invalid(field, 'takes a JSON value');
  }
  if (serialised === undefined && value !== undefined) throw invalid(field, 'takes a JSON value');
  return Buffer.from(serialised ?? '', 'utf8');
}

export function invalid(field: string, problem: string, allowed?: readonly string[]): Unbuilt {
  return new Unbuilt('INVALID_INPUT', `The request cannot be built: ${field} ${problem}.`, {
    field: pointerTo(field),
    ...(allowed && { allowed }),
  });
}
