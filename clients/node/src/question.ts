/** From a caller's words to a request; whatever it cannot carry exactly is refused before anything is sent. */

import { randomBytes } from 'node:crypto';
import type { Code } from './envelope.js';
import { isRecord } from './envelope.js';
import { SINKS } from './generated/sinks.js';
import type { BatchRequest, CallRequest, EvaluateRequest, ValidateRequest } from './protocol.js';

export const TARGETS = ['main', 'renderer', 'node', 'sandbox'] as const;
export const SHAPES = ['script', 'expression', 'function', 'async_body', 'module'] as const;
export const PROFILES = ['balanced', 'strict', 'seed'] as const;
/** What the request says of the target when the sink says it. */
export const NO_TARGET = 'TARGET_UNSPECIFIED';
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

/** What evaluates the text, by name: docs/reference/sinks.md lists them, and the service refuses one that it does not know. */
export type Sink = (typeof SINKS)[number] | (string & {});

export interface CheckDetails {
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

/** A sink, which has a target and readings of its own; or the target, and the wrapper if that is known. */
export type CheckOptions = CheckDetails &
  (
    | { readonly sink: Sink; readonly target?: Target; readonly shape?: undefined }
    | {
        readonly sink?: undefined;
        readonly target: Target;
        /** Without it the payload must be safe under script, expression and async body alike. */
        readonly shape?: Shape;
      }
  );

export interface CallOptions {
  /** The JSON Pointers of the fields that the caller will evaluate: each must be among those that were judged. */
  readonly runs?: readonly string[];
  /** Where the caller evaluates them; without it wherever the server's manifest says. */
  readonly target?: Target;
  /** How the caller evaluates them; without it however the server's manifest says. */
  readonly shape?: Shape;
  /** Which sink they reach; without it whichever the server's manifest says. */
  readonly sink?: Sink;
  readonly profile?: Profile;
  readonly limits?: GuardLimits;
  readonly sessionId?: string;
  readonly includeContext?: boolean;
  /** The arguments lack what need not be judged, such as a required field of plain data: that is no fault then. */
  readonly judgedFieldsOnly?: boolean;
}

/** One payload of a batch or a stream: its text, and the options of `check` but for the session. */
export type Payload = CheckOptions & { readonly code: string; readonly sessionId?: undefined };

export interface ManyOptions {
  /** Whether the payloads behind the first failure are skipped, which denies them. */
  readonly stopOnFirst?: boolean;
  readonly sessionId?: string;
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
  const known = ['sink', 'target', 'shape', 'profile', 'bindings', 'limits', 'sessionId', 'includeContext'];
  const { sink, target, shape, profile, bindings, limits, sessionId, includeContext } = only(known, options);
  if (sink !== undefined && (typeof sink !== 'string' || sink === ''))
    throw invalid('sink', 'has no such value', SINKS);
  return {
    code: payload('code', code),
    sink: sink ?? '',
    target: sink !== undefined && target === undefined ? NO_TARGET : member('target', target, TARGETS),
    ...optional('shape', shape, SHAPES),
    ...optional('profile', profile, PROFILES),
    bindings: textMap('bindings', bindings),
    ...(limits !== undefined && { limits: counts('limits', limits, GUARD_LIMITS) }),
    session_id: text('sessionId', sessionId ?? ''),
    request_id: randomBytes(8).toString('hex'),
    include_context: flag('includeContext', includeContext),
  };
}

const CALL_OPTIONS = [
  ...['runs', 'target', 'shape', 'sink', 'profile', 'limits', 'sessionId', 'includeContext'],
  'judgedFieldsOnly',
];

/** What a tool call's verdict must be about, beside the request. */
export interface Insisted {
  readonly runs: readonly string[];
  readonly target?: string;
  readonly shape?: string;
  readonly sink?: string;
}

/** Return the request and what the caller insists on; throw Unbuilt. */
export function callRequest(tool: string, argumentsJson: string, options: CallOptions): [CallRequest, Insisted] {
  const { runs = [], target, shape, sink, ...rest } = only(CALL_OPTIONS, options);
  const { profile, limits, sessionId, includeContext, judgedFieldsOnly } = rest;
  if (!Array.isArray(runs)) throw invalid('runs', 'takes a list of JSON Pointers');
  const request = {
    tool: text('tool', tool),
    arguments_json: payload('arguments_json', argumentsJson),
    ...optional('profile', profile, PROFILES),
    ...(limits !== undefined && { limits: counts('limits', limits, GUARD_LIMITS) }),
    session_id: text('sessionId', sessionId ?? ''),
    request_id: randomBytes(8).toString('hex'),
    include_context: flag('includeContext', includeContext),
    judged_fields_only: flag('judgedFieldsOnly', judgedFieldsOnly),
  };
  const pointers = runs.map((pointer) => text('runs', pointer));
  if (sink !== undefined && (typeof sink !== 'string' || sink === ''))
    throw invalid('sink', 'has no such value', SINKS);
  const insisted = { ...optional('target', target, TARGETS), ...optional('shape', shape, SHAPES) };
  return [request, { runs: pointers, ...insisted, ...(sink !== undefined && { sink }) }];
}

/** Return the request of one payload of many; throw Unbuilt. */
export function itemRequest(item: Payload, sessionId: string): ValidateRequest {
  if (!isRecord(item)) throw invalid('items', 'takes objects with code and target');
  const { code, ...options } = item;
  if (options.sessionId !== undefined) throw invalid('items', 'takes no session, which is one for all');
  return validateRequest(code, { ...options, sessionId });
}

/** Return the options of a batch or a stream; throw Unbuilt. */
export function manyOptions(options: ManyOptions): Required<ManyOptions> {
  const { stopOnFirst, sessionId } = only(['stopOnFirst', 'sessionId'], options);
  return { stopOnFirst: flag('stopOnFirst', stopOnFirst), sessionId: text('sessionId', sessionId ?? '') };
}

/** Return the request; throw Unbuilt. */
export function batchRequest(items: readonly Payload[], options: ManyOptions): BatchRequest {
  const { stopOnFirst, sessionId } = manyOptions(options);
  if (!Array.isArray(items)) throw invalid('items', 'takes a list');
  return {
    items: items.map((item: Payload) => itemRequest(item, sessionId)),
    stop_on_first: stopOnFirst,
    session_id: sessionId,
    request_id: randomBytes(8).toString('hex'),
  };
}

/** Return the request; throw Unbuilt. */
export function evaluateRequest(code: string, options: EvaluateOptions): EvaluateRequest {
  const known = ['argument', 'shape', 'profile', 'limits', 'guardLimits', 'seed', 'sessionId'];
  const { argument, shape, profile, limits, guardLimits, seed, sessionId } = only(known, options);
  return {
    code: payload('code', code),
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

function payload(field: string, value: unknown): Buffer {
  if (typeof value !== 'string') throw invalid(field, 'takes a string');
  // A lone surrogate has no UTF-8: what was judged would not be what runs.
  if (!value.isWellFormed()) {
    throw new Unbuilt('EVAL_BAD_ENCODING', `${field} holds a lone surrogate.`, { field: pointerTo(field) });
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
// The most that any policy can allow; the arguments of a tool call may have four times that, since JSON escapes are
// longer than what they stand for.
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
};

/** Return the RFC 6901 JSON Pointer to what `field` becomes in the request. */
function pointerTo(field: string): string {
  const [name = '', ...rest] = field.split('.');
  return ['', RENAMED[name] ?? name, ...rest].join('/');
}

/** Refuse what has another name: a misspelt `profile` must not ask for less than was meant. */
function only<T extends object>(known: readonly string[], options: T): T {
  if (!isRecord(options)) throw invalid('options', 'takes an object');
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) throw invalid('options', 'has an unknown name', known);
  }
  return options;
}

function member(field: string, value: unknown, allowed: readonly string[]): string {
  if (typeof value !== 'string' || !allowed.includes(value)) throw invalid(field, 'has no such value', allowed);
  return `${field}_${value}`.toUpperCase();
}

function optional<F extends string>(field: F, value: unknown, allowed: readonly string[]): { [name in F]?: string } {
  return (value === undefined ? {} : { [field]: member(field, value, allowed) }) as { [name in F]?: string };
}

function text(field: string, value: unknown): string {
  if (typeof value !== 'string' || !value.isWellFormed()) throw invalid(field, 'takes a well-formed string');
  return value;
}

function textMap(field: string, value: unknown = {}): Record<string, string> {
  if (!isRecord(value)) throw invalid(field, 'takes an object of strings');
  return Object.fromEntries(Object.entries(value).map(([name, to]) => [text(field, name), text(field, to)]));
}

function count(field: string, value: unknown): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw invalid(field, 'takes a whole number from 0');
  return value as number;
}

function counts(field: string, value: unknown, names: readonly string[]): Record<string, number> {
  if (!isRecord(value)) throw invalid(field, 'takes an object of numbers', names);
  only(names, value);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, limit]) => limit !== undefined)
      .map(([name, limit]) => [name, count(`${field}.${name}`, limit)]),
  );
}

function flag(field: string, value: unknown): boolean {
  if (value !== undefined && typeof value !== 'boolean') throw invalid(field, 'takes true or false');
  return value ?? false;
}

function json(field: string, value: unknown): Buffer {
  let serialised: string | undefined;
  try {
    serialised = JSON.stringify(value);
  } catch {
    throw invalid(field, 'takes a JSON value');
  }
  if (serialised === undefined && value !== undefined) throw invalid(field, 'takes a JSON value');
  return Buffer.from(serialised ?? '', 'utf8');
}

function invalid(field: string, problem: string, allowed?: readonly string[]): Unbuilt {
  return new Unbuilt('INVALID_INPUT', `The request cannot be built: ${field} ${problem}.`, {
    field: pointerTo(field),
    ...(allowed && { allowed }),
  });
}
