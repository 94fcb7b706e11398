/** A reply is an ALLOW only if all of it is about what was asked (docs: "binding"). */

import { createHash } from 'node:crypto';
import type { Decision } from './decision.js';
import { deniedBy } from './decision.js';
import { type Envelope, isRecord, readEnvelope, Unproven } from './envelope.js';
import type { Binding, EvaluateRequest, ValidateRequest, ValidateResponse, WireError } from './protocol.js';

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
  const { ok, envelope, codeHash, decisionId } = prove(request, reply, request.target, policyDigest);
  if (reply.binding?.shape !== request.shape) throw new Unproven('the verdict is about another shape');
  if (!envelope.ok) return deniedBy(envelope, codeHash);
  if (!ok) throw new Unproven('the envelope contradicts the outcome');
  return Object.freeze({ allowed: true, code: null, envelope, codeHash, decisionId });
}

/** Return what `reply` says; throw Unproven unless its outcome, binding and envelope agree with the question. */
export function prove(
  request: ValidateRequest | EvaluateRequest,
  reply: Reply,
  target: string,
  policyDigest: string | undefined,
): Proof {
  const ok = isAllow(reply);
  const envelope = readEnvelope(reply.envelope, ok);
  const binding = reply.binding ?? {};
  for (const field of mismatches(request, binding, envelope, target, policyDigest)) {
    throw new Unproven(`the verdict is about another ${field}`);
  }
  if (!envelope.ok && reply.error?.code !== envelope.code) throw new Unproven('the envelope contradicts the outcome');
  return { ok, envelope, codeHash: binding.code_hash ?? '', decisionId: binding.decision_id ?? '' };
}

/** Tell the two outcomes apart; throw Unproven for none, for both and for one that this version does not know. */
function isAllow({ outcome, allowed, error }: Reply): boolean {
  if (outcome === 'allowed' && isRecord(allowed) && error === undefined) return true;
  if (outcome === 'error' && isRecord(error) && allowed === undefined) return false;
  throw new Unproven('the reply has no outcome');
}

/** Name every field in which a verdict differs from the question. */
function* mismatches(
  request: ValidateRequest | EvaluateRequest,
  binding: Binding,
  envelope: Envelope,
  target: string,
  policyDigest: string | undefined,
): Iterable<string> {
  if (binding.code_hash !== createHash('sha256').update(request.code).digest('hex')) yield 'payload';
  if (binding.target !== target) yield 'target';
  if (request.shape !== undefined && binding.shape !== request.shape) yield 'shape';
  // What refuses the request before a profile is chosen names none; only an ALLOW has to.
  const unjudged = !envelope.ok && binding.profile === undefined;
  if (request.profile !== undefined && binding.profile !== request.profile && !unjudged) yield 'profile';
  if (binding.request_id !== request.request_id) yield 'request';
  if (!binding.decision_id || envelope._meta.decision_id !== binding.decision_id) yield 'decision';
  if (!DIGEST.test(binding.policy_digest ?? '')) yield 'policy';
  if (envelope._meta.provenance?.policy_digest !== binding.policy_digest) yield 'policy';
  if (policyDigest !== undefined && binding.policy_digest !== policyDigest) yield 'policy';
}
