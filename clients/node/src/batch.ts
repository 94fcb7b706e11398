/** Many payloads in one request: each verdict is proven separately, and an unproven one is a denial. */

import { type AllowedDecision, type Decision, type DeniedDecision, deniedBy } from './decision.js';
import { type Envelope, readEnvelope, type SuccessEnvelope, Unproven } from './envelope.js';
import { unproven } from './failure.js';
import { boundProgram } from './hardened.js';
import { checkError, checkValidated, isAllow } from './proof.js';
import type {
  BatchRequest,
  BatchResponse,
  Binding,
  HardenedProgram,
  ItemFailure,
  ValidateRequest,
} from './protocol.js';

/** `skipped`: not judged because an earlier one failed. */
export type ItemStatus = 'allowed' | 'failed' | 'skipped';

interface Item {
  /** The payload's index, from 0. */
  readonly itemIndex: number;
  readonly status: ItemStatus;
}

/** The decision on one payload of many. Run it if and only if `allowed` is true. */
export type ItemDecision = (AllowedDecision | DeniedDecision) & Item;

/** The decision on a batch: `allowed` when every payload may run, `items` with one decision per payload. */
export type BatchDecision = Decision & { readonly items: readonly ItemDecision[] };

export const STATUSES: { readonly [name: string]: ItemStatus } = {
  ITEM_STATUS_ALLOWED: 'allowed',
  ITEM_STATUS_FAILED: 'failed',
  ITEM_STATUS_SKIPPED: 'skipped',
};

export function itemOf(decision: Decision, itemIndex: number, status: ItemStatus): ItemDecision {
  return Object.freeze({ ...decision, itemIndex, status });
}

/** Return `denial` as the decision on a batch of `count` payloads and on each of them. */
export function batchDeniedBy(denial: DeniedDecision, count: number): BatchDecision {
  const items = Array.from({ length: count }, (_, index) => itemOf(denial, index, 'failed'));
  return Object.freeze({ ...denial, items });
}

/** Return the decisions in `reply`; throw Unproven when it does not hold for `request` as a whole. */
export function batchFrom(
  request: BatchRequest,
  reply: BatchResponse,
  policyDigest: string | undefined,
): BatchDecision {
  const envelope = readEnvelope(reply.envelope, isAllow(reply));
  checkError(reply.error, envelope);
  const { decision_id } = envelope._meta;
  const decisionId = typeof decision_id === 'string' ? decision_id : '';
  const whole: Decision = envelope.ok
    ? { allowed: true, code: null, envelope, codeHash: '', decisionId }
    : deniedBy(envelope);
  // The batch was rejected as a whole: the reply has no verdict on any item.
  if (!whole.allowed && !reply.bindings?.length && !reply.failures?.length)
    return batchDeniedBy(whole, request.items.length);
  const items = itemsOf(request, reply, whole, policyDigest);
  const refused = items.find((item) => !item.allowed);
  // An ALLOW with one unproven item is a denial.
  if (whole.allowed && refused !== undefined) return Object.freeze({ ...deniedItem(refused), items });
  return Object.freeze({ ...whole, items });
}

function deniedItem(item: ItemDecision): DeniedDecision {
  if (item.allowed) throw new Unproven('the verdict is about other items');
  const { allowed, code, envelope, codeHash, decisionId } = item;
  return { allowed, code, envelope, codeHash, decisionId };
}

/** Return the decision on each item, from its failure or binding; throw Unproven when these do not match the items. */
function itemsOf(
  request: BatchRequest,
  reply: BatchResponse,
  whole: Decision,
  policyDigest: string | undefined,
): ItemDecision[] {
  const count = request.items.length;
  const failures = new Map((reply.failures ?? []).map((failure) => [failure.item_index ?? 0, failure]));
  const places = (reply.failures ?? []).map(({ item_index = 0 }) => item_index);
  const isOrdered = places.every((place, at) => place < count && (at === 0 || place > (places[at - 1] as number)));
  const isSkipped = (place: number) => failures.get(place)?.status === 'ITEM_STATUS_SKIPPED';
  const bindings = [...(reply.bindings ?? [])];
  const judged = count - places.filter(isSkipped).length;
  const carried = (reply.hardened ?? []).map(({ item_index = 0, hardened }) => [item_index, hardened] as const);
  const programs = new Map(carried);
  const isOfAllowed = [...programs.keys()].every((place) => place < count && !failures.has(place));
  if (
    reply.item_count !== count ||
    !isOrdered ||
    bindings.length !== judged ||
    whole.allowed !== (places.length === 0) ||
    programs.size !== carried.length ||
    !isOfAllowed
  ) {
    throw new Unproven('the verdict is about other items');
  }
  return request.items.map((item, index) => {
    if (isSkipped(index)) return itemOf(whole, index, 'skipped');
    const about = { failure: failures.get(index), hardened: programs.get(index) };
    const decision = decided(item, bindings.shift() as Binding, about, whole.envelope, policyDigest);
    return itemOf(decision, index, decision.allowed ? 'allowed' : 'failed');
  });
}

function decided(
  item: ValidateRequest,
  binding: Binding,
  { failure, hardened }: { failure: ItemFailure | undefined; hardened: HardenedProgram | undefined },
  whole: Envelope,
  policyDigest: string | undefined,
): Decision {
  try {
    // An allowed item has no envelope: the batch's envelope proves the policy, the item's binding the rest.
    const meta = { ...whole._meta, decision_id: binding.decision_id ?? '' };
    const allowed: SuccessEnvelope = { ok: true, _meta: meta };
    const envelope = failure === undefined ? allowed : readEnvelope(failure.envelope, false);
    checkError(failure?.error, envelope);
    checkValidated(item, binding, envelope, policyDigest);
    const codeHash = binding.code_hash ?? '';
    if (!envelope.ok) return deniedBy(envelope, codeHash);
    const program = boundProgram(item, binding, hardened, undefined);
    return { allowed: true, code: null, envelope, codeHash, decisionId: binding.decision_id ?? '', ...program };
  } catch (doubt) {
    if (doubt instanceof Unproven) return unproven(doubt);
    throw doubt;
  }
}
