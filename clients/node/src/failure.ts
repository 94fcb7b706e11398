/** What went wrong, as a denial: no failure is a reason to run a payload. */

import { Metadata, status } from '@grpc/grpc-js';
import { type DeniedDecision, denial, deniedBy } from './decision.js';
import { type Code, isRecord, readEnvelope, Unproven } from './envelope.js';
import { attachedEnvelope } from './protocol.js';
import { Unbuilt } from './question.js';

const UNAVAILABLE: number = status.UNAVAILABLE;

// For statuses that arrive without an envelope of their own, from gRPC itself or from something on the way.
const CODES: { readonly [number: number]: Code } = {
  [status.DEADLINE_EXCEEDED]: 'DEADLINE_EXCEEDED',
  [status.UNAVAILABLE]: 'SHUTTING_DOWN',
  [status.UNAUTHENTICATED]: 'UNAUTHENTICATED',
  [status.PERMISSION_DENIED]: 'PERMISSION_DENIED',
};

/** Return the denial of a guard that is not there, `message` saying which. */
export function unreachable(message: string): DeniedDecision {
  return away(message, 'UNAVAILABLE');
}

/** Return the denial that `failure`, of any kind, is. */
export function denialOf(failure: unknown): DeniedDecision {
  try {
    if (failure instanceof Unbuilt) return denial(failure.code, failure.message, { details: failure.details });
    if (failure instanceof Unproven) return unproven(failure);
    if (isRecord(failure) && typeof failure.code === 'number') return byStatus(failure.code, failure.metadata);
    return denial('INTERNAL', 'The guard could not be asked.');
  } catch (doubt) {
    return doubt instanceof Unproven ? unproven(doubt) : denial('INTERNAL', 'The guard could not be asked.');
  }
}

function byStatus(code: number, metadata: unknown): DeniedDecision {
  const attached = attachedIn(metadata);
  if (attached !== undefined) return deniedBy(readEnvelope(attached, false));
  const name = status[code] ?? String(code);
  const message = `The guard answered with the gRPC status ${name}.`;
  if (code === UNAVAILABLE) return away(message, name);
  return denial(CODES[code] ?? 'INTERNAL', message, { details: { grpc_status: name } });
}

function attachedIn(metadata: unknown): Buffer | undefined {
  const values = metadata instanceof Metadata ? metadata.get('grpc-status-details-bin') : [];
  for (const value of values) {
    const attached = typeof value === 'string' ? undefined : parsed(value);
    if (attached !== undefined) return attached;
  }
  return undefined;
}

function parsed(serialised: Buffer): Buffer | undefined {
  try {
    return attachedEnvelope(serialised);
  } catch {
    return undefined; // details that do not parse say nothing; the status still does
  }
}

function unproven(doubt: Unproven): DeniedDecision {
  return denial('INTERNAL', `The guard's reply is no verdict on this payload: ${doubt.message}.`);
}

function away(message: string, name: string): DeniedDecision {
  return denial('SHUTTING_DOWN', message, {
    hint: 'Nothing runs while the guard is away; check that it is up, then send the same request again.',
    details: { grpc_status: name },
  });
}
