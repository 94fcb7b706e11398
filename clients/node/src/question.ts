/** From a caller's words to a request; whatever it cannot carry exactly is refused before anything is sent. */

import { randomBytes } from 'node:crypto';
import type { Code } from './envelope.js';
import { isRecord } from './envelope.js';
import type { EvaluateRequest, ValidateRequest } from './protocol.js';

export const TARGETS = ['main', 'renderer', 'node', 'sandbox'] as const;
export const SHAPES = ['script', 'expression', 'function', 'async_body', 'module'] as const;
export const PROFILES = ['balanced', 'strict', 'seed'] as const;
const GUARD_LIMITS = ['payload_bytes', 'depth', 'nodes_per_64k', 'steps'] as const;
const RUN_LIMITS = ['fuel', 'deadline_ms', 'memory_bytes', 'stack_bytes', 'result_bytes', 'console_bytes'] as const;

/** The realm that would evaluate the payload. */
export type Target = (typeof TARGETS)[number];
/** The wrapper that the sink puts around the text. */
export type Shape = (typeof SHAPES)[number];
/** How much the guard must prove. */
export type Profile = (typeof PROFILES)[number];
/** Limits of the analysis; each may only be smaller than the policy's. */
export type GuardLimits = { readonly [name in (typeof GUARD_LIMITS)[number]]?: number };
/** Limits of a run; each may only be smaller than the server's. */
export type RunLimits = { readonly [name in (typeof RUN_LIMITS)[number]]?: number };

export interface CheckOptions {
  readonly target: Target;
  /** Without it the payload must be safe under script, expression and async body alike. */
  readonly shape?: Shape;
  /** At least as strict as the policy's. */
  readonly profile?: Profile;
  /** Names that the sink binds, and what each is bound to, such as `page` to `playwright.page`. */
  readonly bindings?: Readonly<Record<string, string>>;
  readonly limits?: GuardLimits;
  /** For the audit log: a letter or digit, then up to 127 of `A-Z a-z 0-9 . _ : @ / -`. */
  readonly sessionId?: string;
  /** Asks for the source lines around each finding. */
  readonly includeContext?: boolean;
}

export interface EvaluateOptions {
  /** What a payload in shape `function` is called with; any JSON value. */
  readonly argument?: unknown;
  readonly shape?: Exclude<Shape, 'module'>;
  readonly profile?: Profile;
  readonly limits?: RunLimits;
  readonly guardLimits?: GuardLimits;
  /** Seed of Math.random, a whole number from 0. */
  readonly seed?: number;
  readonly sessionId?: string;
}

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

/** Return the request; throw Unbuilt. */
export function validateRequest(code: string, options: CheckOptions): ValidateRequest {
  const known = ['target', 'shape', 'profile', 'bindings', 'limits', 'sessionId', 'includeContext'];
  const { target, shape, profile, bindings, limits, sessionId, includeContext } = only(known, options);
  return {
    code: payload(code),
    target: member('target', target, TARGETS),
    ...optional('shape', shape, SHAPES),
    ...optional('profile', profile, PROFILES),
    bindings: textMap('bindings', bindings),
    ...(limits !== undefined && { limits: counts('limits', limits, GUARD_LIMITS) }),
    session_id: text('sessionId', sessionId ?? ''),
    request_id: randomBytes(8).toString('hex'),
    include_context: flag('includeContext', includeContext),
  };
}

/** Return the request; throw Unbuilt. */
export function evaluateRequest(code: string, options: EvaluateOptions): EvaluateRequest {
  const known = ['argument', 'shape', 'profile', 'limits', 'guardLimits', 'seed', 'sessionId'];
  const { argument, shape, profile, limits, guardLimits, seed, sessionId } = only(known, options);
  return {
    code: payload(code),
    ...optional('shape', shape, SHAPES),
    argument_json: json('argument', argument),
    ...(limits !== undefined && { limits: counts('limits', limits, RUN_LIMITS) }),
    ...(guardLimits !== undefined && { guard_limits: counts('guardLimits', guardLimits, GUARD_LIMITS) }),
    ...optional('profile', profile, PROFILES),
    ...(seed !== undefined && { seed: count('seed', seed) }),
    session_id: text('sessionId', sessionId ?? ''),
    request_id: randomBytes(8).toString('hex'),
  };
}

function payload(code: unknown): Buffer {
  if (typeof code !== 'string') throw invalid('code', 'a payload is a string');
  // A lone surrogate has no UTF-8: what was judged would not be what runs.
  if (!code.isWellFormed()) {
    throw new Unbuilt('EVAL_BAD_ENCODING', 'The payload holds a lone surrogate.', { field: 'code' });
  }
  return Buffer.from(code, 'utf8');
}

/** Refuse what has another name: a misspelt `profile` must not ask for less than was meant. */
function only<T extends object>(known: readonly string[], options: T): T {
  if (!isRecord(options)) throw invalid('options', 'options are an object');
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) throw invalid('options', 'an option has an unknown name', known);
  }
  return options;
}

function member(field: string, value: unknown, allowed: readonly string[]): string {
  if (typeof value !== 'string' || !allowed.includes(value)) throw invalid(field, 'unknown value', allowed);
  return `${field}_${value}`.toUpperCase();
}

function optional<F extends string>(field: F, value: unknown, allowed: readonly string[]): { [name in F]?: string } {
  return (value === undefined ? {} : { [field]: member(field, value, allowed) }) as { [name in F]?: string };
}

function text(field: string, value: unknown): string {
  if (typeof value !== 'string' || !value.isWellFormed()) throw invalid(field, 'a well-formed string is needed');
  return value;
}

function textMap(field: string, value: unknown = {}): Record<string, string> {
  if (!isRecord(value)) throw invalid(field, 'an object of strings is needed');
  return Object.fromEntries(Object.entries(value).map(([name, to]) => [text(field, name), text(field, to)]));
}

function count(field: string, value: unknown): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw invalid(field, 'a whole number from 0 is needed');
  return value as number;
}

function counts(field: string, value: unknown, names: readonly string[]): Record<string, number> {
  if (!isRecord(value)) throw invalid(field, 'an object of numbers is needed', names);
  only(names, value);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, limit]) => limit !== undefined)
      .map(([name, limit]) => [name, count(`${field}.${name}`, limit)]),
  );
}

function flag(field: string, value: unknown): boolean {
  if (value !== undefined && typeof value !== 'boolean') throw invalid(field, 'true or false is needed');
  return value ?? false;
}

function json(field: string, value: unknown): Buffer {
  let serialised: string | undefined;
  try {
    serialised = JSON.stringify(value);
  } catch {
    throw invalid(field, 'the value is not JSON');
  }
  if (serialised === undefined && value !== undefined) throw invalid(field, 'the value is not JSON');
  return Buffer.from(serialised ?? '', 'utf8');
}

function invalid(field: string, problem: string, allowed?: readonly string[]): Unbuilt {
  return new Unbuilt('INVALID_INPUT', `The request cannot be built: ${field}: ${problem}.`, {
    field,
    ...(allowed && { allowed }),
  });
}
