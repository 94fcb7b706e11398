/** Checks that a verdict is bound to the request: a reply that differs from it is never an ALLOW. */

import { createHash } from 'node:crypto';
import type { Decision } from './decision.js';
import { deniedBy } from './decision.js';
import { type Envelope, isRecord, readEnvelope, Unproven } from './envelope.js';
import { boundProgram } from './hardened.js';
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
  const program = boundProgram(request, binding, reply.allowed?.hardened, envelope);
  return Object.freeze({
    allowed: true,
    code: null,
    envelope,
    codeHash,
    decisionId: binding.decision_id ?? '',
    ...program,
  });
}

/** Throw Unproven when `binding` or `envelope` does not match `request`. */
export function checkValidated(
  request: ValidateRequest,
  binding: Binding,
  envelope: Envelope,
  policyDigest: string | undefined,
): void {
  const target = request.target === NO_TARGET ? sinkTarget(request, binding, envelope.ok) : request.target;
  checkBinding(request, binding, envelope, target, policyDigest);
  // A rejection of the sink itself is bound to no sink.
  const sink = binding.sink ?? '';
  if (sink !== request.sink && (envelope.ok || sink !== '')) throw new Unproven('the verdict is about another sink');
  if (binding.shape !== request.shape) throw new Unproven('the verdict is about another shape');
}

/** Return the target of the requested sink, as the service names it; throw Unproven for an ALLOW without a target. */
function sinkTarget(request: ValidateRequest, { target = NO_TARGET }: Binding, isAllow: boolean): string {
  const isNamed = request.sink !== '' && typeof target === 'string' && target !== NO_TARGET;
  if (!isNamed && isAllow) throw new Unproven('the verdict is about no target');
  return String(target);
}

/** Return the envelope of `reply`; throw Unproven unless outcome, binding and envelope match the request. */
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

/** Throw Unproven when `binding` or `envelope` differs from the request in a field that the request sets. */
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

/** Throw Unproven when the typed `error` and its envelope differ. */
export function checkError(error: WireError | undefined, envelope: Envelope): void {
  if (envelope.ok) return;
  const agrees = TYPED.every((name) => error?.[name] === undefined || error[name] === envelope[name]);
  const isRetryable = (error?.retryable ?? false) === (envelope.retryable ?? false);
  if (error?.code === undefined || !agrees || !isRetryable) throw new Unproven('the envelope contradicts the outcome');
}

/** Return whether the outcome is an ALLOW; throw Unproven for none, for both and for an unknown one. */
export function isAllow({ outcome, allowed, error }: Reply): boolean {
  if (outcome === 'allowed' && isRecord(allowed) && error === undefined) return true;
  if (outcome === 'error' && isRecord(error) && allowed === undefined) return false;
  throw new Unproven('the reply has no outcome');
}

/** Yield the name of each field in which the verdict differs from the request. */
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

/** Return whether the profile is the requested one, or without a request one that is not weak. */
function hasProfile(request: Asked, { profile, target }: Binding, isAllow: boolean): boolean {
  // A rejection before the profile is chosen names none, and neither does the verdict on a tool that evaluates nothing.
  if (profile === undefined || profile === 'PROFILE_UNSPECIFIED') return !isAllow || ('tool' in request && !target);
  if (request.profile !== undefined) return profile === request.profile;
  return !isAllow || profile === 'PROFILE_BALANCED' || profile === 'PROFILE_STRICT';
}

/** Yield the fields in which the envelope of an ALLOW contradicts its binding; it may omit them. */
function* contradictions(binding: Binding, envelope: Envelope): Iterable<string> {
  if (!envelope.ok) return;
  if ('code' in envelope || 'error' in envelope) yield 'outcome';
  for (const field of ['target', 'shape', 'profile'] as const) {
    const stated = envelope[field] ?? undefined;
    if (stated !== undefined && `${field}_${typeof stated === 'string' ? stated : ''}`.toUpperCase() !== binding[field])
      yield field;
  }
  if ((envelope.code_hash ?? binding.code_hash) !== binding.code_hash) yield 'payload';
}
