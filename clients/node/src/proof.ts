/** A reply is an ALLOW only if all of it is about what was asked (docs: "binding"). */

import { createHash } from 'node:crypto';
import type { Decision } from './decision.js';
import { deniedBy } from './decision.js';
import { type Envelope, isRecord, readEnvelope, Unproven } from './envelope.js';
import type { Binding, ValidateRequest, ValidateResponse, WireError } from './protocol.js';
import { NO_TARGET } from './question.js';

/** A request with its bytes. */
export type Asked = Subject & { readonly shape?: string; readonly profile?: string; readonly request_id: string };
type Subject = { readonly code: Buffer } | { readonly tool: string; readonly arguments_json: Buffer };

interface Reply {
  readonly binding?: Binding;
  readonly outcome?: string;
  readonly allowed?: object;
  readonly error?: WireError;
  readonly envelope?: Buffer;
}

interface Proof {
  readonly ok: boolean;
  readonly envelope: Envelope;
  readonly codeHash: string;
  readonly decisionId: string;
}

const DIGEST = /^[0-9a-f]{64}$/;

/** Return the decision in `reply`; throw Unproven when it does not hold for `request`. */
export function decisionFrom(
  request: ValidateRequest,
  reply: ValidateResponse,
  policyDigest: string | undefined,
): Decision {
  const envelope = readEnvelope(reply.envelope, isAllow(reply));
  const binding = reply.binding ?? {};
  checkValidated(request, binding, envelope, policyDigest);
  checkError(reply.error, envelope);
  const codeHash = binding.code_hash ?? '';
  if (!envelope.ok) return deniedBy(envelope, codeHash);
  return Object.freeze({ allowed: true, code: null, envelope, codeHash, decisionId: binding.decision_id ?? '' });
}

/** Throw Unproven when `binding` is not about `request`, or `envelope` about something else. */
export function checkValidated(
  request: ValidateRequest,
  binding: Binding,
  envelope: Envelope,
  policyDigest: string | undefined,
): void {
  const target = request.target === NO_TARGET ? sinkTarget(request, binding, envelope.ok) : request.target;
  checkBinding(request, binding, envelope, target, policyDigest);
  // A refusal of the sink itself is about no sink.
  const sink = binding.sink ?? '';
  if (sink !== request.sink && (envelope.ok || sink !== '')) throw new Unproven('the verdict is about another sink');
  if (binding.shape !== request.shape) throw new Unproven('the verdict is about another shape');
}

/** Return the target of the sink that was asked about, as the service names it; throw Unproven for an ALLOW without. */
function sinkTarget(request: ValidateRequest, { target = NO_TARGET }: Binding, isAllow: boolean): string {
  const isNamed = request.sink !== '' && typeof target === 'string' && target !== NO_TARGET;
  if (!isNamed && isAllow) throw new Unproven('the verdict is about no target');
  return String(target);
}

/** Return what `reply` says; throw Unproven unless its outcome, binding and envelope agree with the question. */
export function prove(
  request: Asked,
  reply: Reply,
  target: string | undefined,
  policyDigest: string | undefined,
): Proof {
  const ok = isAllow(reply);
  const envelope = readEnvelope(reply.envelope, ok);
  const binding = reply.binding ?? {};
  checkBinding(request, binding, envelope, target, policyDigest);
  checkError(reply.error, envelope);
  return { ok, envelope, codeHash: binding.code_hash ?? '', decisionId: binding.decision_id ?? '' };
}

/** Throw Unproven when `binding` or `envelope` differs from the question in anything that it said. */
export function checkBinding(
  request: Asked,
  binding: Binding,
  envelope: Envelope,
  target: string | undefined,
  policyDigest: string | undefined,
): void {
  for (const field of mismatches(request, binding, envelope, target, policyDigest)) {
    throw new Unproven(`the verdict is about another ${field}`);
  }
  for (const field of contradictions(binding, envelope)) throw new Unproven(`the verdict is about another ${field}`);
}

const TYPED = ['code', 'number', 'domain', 'category', 'cause', 'http'] as const;

/** Throw Unproven when the typed `error` and its envelope say different things. */
export function checkError(error: WireError | undefined, envelope: Envelope): void {
  if (envelope.ok) return;
  const agrees = TYPED.every((name) => error?.[name] === undefined || error[name] === envelope[name]);
  const isRetryable = (error?.retryable ?? false) === (envelope.retryable ?? false);
  if (error?.code === undefined || !agrees || !isRetryable) throw new Unproven('the envelope contradicts the outcome');
}

/** Tell the two outcomes apart; throw Unproven for none, for both and for one that this version does not know. */
export function isAllow({ outcome, allowed, error }: Reply): boolean {
  if (outcome === 'allowed' && isRecord(allowed) && error === undefined) return true;
  if (outcome === 'error' && isRecord(error) && allowed === undefined) return false;
  throw new Unproven('the reply has no outcome');
}

/** Name every field in which a verdict differs from the question. */
function* mismatches(
  request: Asked,
  binding: Binding,
  envelope: Envelope,
  target: string | undefined,
  policyDigest: string | undefined,
): Iterable<string> {
  const subject = 'code' in request ? request.code : request.arguments_json;
  if (binding.code_hash !== createHash('sha256').update(subject).digest('hex')) yield 'payload';
  // A tool call declares no target: the server's manifest does.
  if ((target !== undefined || 'code' in request) && (binding.target ?? NO_TARGET) !== target) yield 'target';
  if (request.shape !== undefined && binding.shape !== request.shape) yield 'shape';
  if (!hasProfile(request, binding, envelope.ok)) yield 'profile';
  if (binding.request_id !== request.request_id) yield 'request';
  if (!binding.decision_id || envelope._meta.decision_id !== binding.decision_id) yield 'decision';
  if (!DIGEST.test(binding.policy_digest ?? '')) yield 'policy';
  if (envelope._meta.provenance?.policy_digest !== binding.policy_digest) yield 'policy';
  if (policyDigest !== undefined && binding.policy_digest !== policyDigest) yield 'policy';
}

/** Say whether the profile is one that the caller may have meant: what it asked for, or not the weak one. */
function hasProfile(request: Asked, { profile, target }: Binding, isAllow: boolean): boolean {
  // What refuses a request before a profile is chosen names none, and what evaluates nothing neither.
  if (profile === undefined || profile === 'PROFILE_UNSPECIFIED') return !isAllow || ('tool' in request && !target);
  if (request.profile !== undefined) return profile === request.profile;
  return !isAllow || profile === 'PROFILE_BALANCED' || profile === 'PROFILE_STRICT';
}

/** Name what the envelope of an ALLOW says otherwise than its binding; it need not repeat it. */
function* contradictions(binding: Binding, envelope: Envelope): Iterable<string> {
  if (!envelope.ok) return;
  if ('code' in envelope || 'error' in envelope) yield 'outcome';
  for (const field of ['target', 'shape', 'profile'] as const) {
    const told = envelope[field] ?? undefined;
    if (told !== undefined && `${field}_${typeof told === 'string' ? told : ''}`.toUpperCase() !== binding[field])
      yield field;
  }
  if ((envelope.code_hash ?? binding.code_hash) !== binding.code_hash) yield 'payload';
}
