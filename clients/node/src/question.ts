/** The requests of the operations, built from the caller's options; invalid ones are rejected before anything is sent. */

import { randomBytes } from 'node:crypto';
import { isRecord } from './envelope.js';
import {
  count,
  counts,
  flag,
  hardening,
  invalid,
  json,
  member,
  name,
  only,
  optional,
  payload,
  text,
  textMap,
} from './fields.js';
import { SINKS } from './generated/sinks.js';
import type { BatchRequest, CallRequest, EvaluateRequest, ValidateRequest } from './protocol.js';

export const TARGETS = ['main', 'renderer', 'node', 'sandbox'] as const;
export const SHAPES = ['script', 'expression', 'function', 'async_body', 'module'] as const;
export const PROFILES = ['balanced', 'strict', 'seed'] as const;
/** The target of a request that names a sink, which has its own target. */
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

/** The name of the function that evaluates the text: docs/reference/sinks.md lists them; the service rejects unknown names. */
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
  /**
   * Whether an ALLOW carries a hardened program: true denies a payload without one, false declines it, which a policy may
   * refuse; without it the policy decides.
   */
  readonly harden?: boolean;
  /** The key of the page that runs the program, from `prepareRuntime`. */
  readonly prepared?: string;
}

/** A sink, which implies target and shape; or a target, and the shape if it is known. */
export type CheckOptions = CheckDetails &
  (
    | { readonly sink: Sink; readonly target?: Target; readonly shape?: undefined }
    | {
        readonly sink?: undefined;
        readonly target: Target;
        /** Without it the payload must be safe as a script, as an expression and as an async body. */
        readonly shape?: Shape;
      }
  );

export interface CallOptions {
  /** The JSON Pointers of the fields that the caller will evaluate: each must be among the judged fields. */
  readonly runs?: readonly string[];
  /** Where the caller evaluates them; the default is the target of the server's manifest. */
  readonly target?: Target;
  /** How the caller evaluates them; the default is the shape of the server's manifest. */
  readonly shape?: Shape;
  /** Which sink they reach; the default is the sink of the server's manifest. */
  readonly sink?: Sink;
  readonly profile?: Profile;
  readonly limits?: GuardLimits;
  readonly sessionId?: string;
  readonly includeContext?: boolean;
  /** Declares that the arguments omit the fields that are not judged, which may include required ones. */
  readonly judgedFieldsOnly?: boolean;
  /** As in `check`; each source field has its own program. */
  readonly harden?: boolean;
  /** The key of the page that runs these programs, as in `check`. */
  readonly prepared?: string;
}

/** One payload of a batch or a stream: its text, and the options of `check` except the session. */
export type Payload = CheckOptions & { readonly code: string; readonly sessionId?: undefined };

export interface ManyOptions {
  /** Whether the payloads after the first failure are skipped, and so denied. */
  readonly stopOnFirst?: boolean;
  readonly sessionId?: string;
}

export interface EvaluateOptions {
  /** The argument of a payload in shape `function`; any JSON value. */
  readonly argument?: unknown;
  readonly shape?: Exclude<Shape, 'module'>;
  readonly profile?: Profile;
  readonly limits?: RunLimits;
  readonly guardLimits?: GuardLimits;
  /** Seed of Math.random, a whole number from 0. */
  readonly seed?: number;
  readonly sessionId?: string;
  /** Whether the hardened program runs instead of the payload, as in `check`. */
  readonly harden?: boolean;
}

const CHECK_OPTIONS = [
  ...['sink', 'target', 'shape', 'profile', 'bindings', 'limits', 'sessionId', 'includeContext'],
  ...['harden', 'prepared'],
];

/** Return the request; throw Unbuilt. */
export function validateRequest(code: string, options: CheckOptions): ValidateRequest {
  const { sink, target, shape, profile, bindings, limits, sessionId, includeContext, harden, prepared } = only(
    CHECK_OPTIONS,
    options,
  );
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
    ...hardening(harden),
    ...(prepared !== undefined && { prepared: text('prepared', prepared) }),
  };
}

const CALL_OPTIONS = [
  ...['runs', 'target', 'shape', 'sink', 'profile', 'limits', 'sessionId', 'includeContext'],
  ...['judgedFieldsOnly', 'harden', 'prepared'],
];

/** What a tool call's verdict must match, in addition to the request. */
export interface Insisted {
  readonly runs: readonly string[];
  readonly target?: string;
  readonly shape?: string;
  readonly sink?: string;
}

/** Return the request and what the caller insists on; throw Unbuilt. */
export function callRequest(tool: string, argumentsJson: string, options: CallOptions): [CallRequest, Insisted] {
  const { runs = [], target, shape, sink, ...rest } = only(CALL_OPTIONS, options);
  const { profile, limits, sessionId, includeContext, judgedFieldsOnly, harden, prepared } = rest;
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
    ...hardening(harden),
    ...(prepared !== undefined && { prepared: text('prepared', prepared) }),
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
  const known = ['argument', 'shape', 'profile', 'limits', 'guardLimits', 'seed', 'sessionId', 'harden'];
  const { argument, shape, profile, limits, guardLimits, seed, sessionId, harden } = only(known, options);
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
    ...hardening(harden),
  };
}

/** Return the request; throw Unbuilt. */
export function reportRequest(decisionId: string, construct: string): { decision_id: string; construct: string } {
  return { decision_id: name('decisionId', decisionId), construct: name('construct', construct) };
}
