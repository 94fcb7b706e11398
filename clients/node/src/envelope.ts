/** The envelope of every reply, and the envelopes of denials by the client. */

import { CODES } from './generated/codes.js';
import { parseOnce, RepeatedKey } from './json.js';

/** A code of the registry that this version knows; a newer service may send others. */
export type Code = keyof typeof CODES;

/** What produced a verdict; digests are lower-case hex, `unknown` without a reply of the service. */
export interface Provenance {
  readonly service_version: string;
  readonly policy_digest: string;
  readonly ruleset_digest: string;
  readonly grammar_version: string;
}

/** `_meta` of an envelope; `elapsed_ms` is in milliseconds. */
export interface Meta {
  readonly estimated_tokens: number;
  readonly elapsed_ms: number;
  readonly decision_id: string;
  readonly audited: boolean;
  readonly provenance: Provenance;
  readonly would_block: readonly unknown[];
  readonly session_id?: string;
}

/** The envelope of a permitted request. */
export interface SuccessEnvelope {
  readonly ok: true;
  readonly _meta: Meta;
  readonly [field: string]: unknown;
}

/** The envelope of a denied or failed request: what happened, and what to do next. */
export interface ErrorEnvelope {
  readonly ok: false;
  readonly error: string;
  readonly code: string;
  readonly number: number;
  readonly domain: string;
  readonly category: string;
  readonly cause: 'caller' | 'system';
  readonly hint: string;
  readonly recovery_hints: readonly string[];
  readonly next_actions?: readonly string[];
  readonly similar_refs?: readonly string[];
  readonly details?: Readonly<Record<string, unknown>>;
  readonly retryable: boolean;
  readonly http: number;
  readonly _meta: Meta;
  readonly [field: string]: unknown;
}

export type Envelope = SuccessEnvelope | ErrorEnvelope;

/** The reply is not a proven verdict on the request; the message says why, without payload. */
export class Unproven extends Error {}

export const UNKNOWN: Provenance = {
  service_version: 'unknown',
  policy_digest: 'unknown',
  ruleset_digest: 'unknown',
  grammar_version: 'unknown',
};

/** Return the envelope of a denial by the client; hint and next actions default to those of `code`. */
export function denialEnvelope(
  code: Code,
  message: string,
  extra: {
    hint?: string;
    nextActions?: readonly string[];
    details?: Readonly<Record<string, unknown>>;
    meta?: Partial<Meta>;
  } = {},
): ErrorEnvelope {
  const { number, domain, category, cause, hint, recovery_hints, retryable, http } = CODES[code];
  const next_actions = extra.nextActions ?? CODES[code].next_actions;
  const body = {
    ok: false as const,
    error: message,
    code,
    number,
    domain,
    category,
    cause: cause as ErrorEnvelope['cause'],
    hint: extra.hint ?? hint,
    recovery_hints,
    ...(next_actions.length > 0 && { next_actions }),
    ...(extra.details && { details: extra.details }),
    retryable,
    http,
  };
  const meta: Meta = {
    // The service counts in the same way: a quarter of the body's characters, rounded up.
    estimated_tokens: Math.ceil(Array.from(JSON.stringify(body)).length / 4),
    elapsed_ms: 0,
    decision_id: '',
    audited: false,
    provenance: UNKNOWN,
    would_block: [],
    ...extra.meta,
  };
  return { ...body, _meta: meta };
}

/** Return the envelope in `bytes`; throw Unproven unless it is valid and its `ok` equals `ok`. */
export function readEnvelope(bytes: Uint8Array | undefined, ok: true): SuccessEnvelope;
export function readEnvelope(bytes: Uint8Array | undefined, ok: false): ErrorEnvelope;
export function readEnvelope(bytes: Uint8Array | undefined, ok: boolean): Envelope;
export function readEnvelope(bytes: Uint8Array | undefined, ok: boolean): Envelope {
  let envelope: unknown;
  try {
    envelope = parseOnce(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (failure) {
    throw new Unproven(failure instanceof RepeatedKey ? 'the envelope repeats a key' : 'the envelope is not JSON');
  }
  if (!isRecord(envelope) || envelope.ok !== ok) throw new Unproven('the envelope contradicts the outcome');
  if (!isRecord(envelope._meta)) throw new Unproven('the envelope has no _meta');
  if (!ok && typeof envelope.code !== 'string') throw new Unproven('the envelope has no code');
  return envelope as unknown as Envelope;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
