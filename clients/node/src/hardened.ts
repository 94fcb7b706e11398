/** The hardened program of an ALLOW: it counts only if binding and envelope name its hash. */

import { isAscii } from 'node:buffer';
import { createHash } from 'node:crypto';
import { type Envelope, isRecord, Unproven } from './envelope.js';
import type { Binding, Harden, HardenedProgram, ValidateRequest } from './protocol.js';

/** The program to run instead of the payload, as a decision has it. */
export interface Program {
  readonly hardened: string;
  readonly hardenedHash: string;
}

/**
 * Return the program that an ALLOW for `request` carries; undefined for an ALLOW without one.
 *
 * Throw Unproven for a program that is not the one that `binding` and `envelope` name, that is for another sink or shape,
 * or that the request declined; and for an ALLOW without the program that the request requires. An item of a batch has
 * no envelope.
 */
export function boundProgram(
  request: ValidateRequest,
  binding: Binding,
  carried: HardenedProgram | undefined,
  envelope: Envelope | undefined,
): Program | undefined {
  const program = provenProgram(carried, request.harden);
  if (program === undefined) {
    if (binding.hardened_hash || (envelope !== undefined && 'hardened' in envelope)) {
      throw new Unproven('the program of the verdict is missing');
    }
    refuseWithout(request.harden);
    return undefined;
  }
  if (program.hardenedHash !== binding.hardened_hash) throw new Unproven('the program is not that of the verdict');
  if (envelope !== undefined && statedHash(envelope) !== program.hardenedHash) {
    throw new Unproven('the envelope contradicts the program');
  }
  if ((carried?.sink ?? '') !== request.sink || carried?.shape !== binding.shape) {
    throw new Unproven('the program is for another sink or shape');
  }
  return program;
}

/** Return the program in `carried`; throw Unproven unless it is what its hash says and the request did not decline it. */
export function provenProgram(carried: HardenedProgram | undefined, harden: Harden | undefined): Program | undefined {
  const { program, sha256 = '' } = carried ?? {};
  if (!program?.length && sha256 === '') return undefined;
  if (harden === 'HARDEN_OFF' || program === undefined || hashOf(program) !== sha256) {
    throw new Unproven('the program is not that of the verdict');
  }
  if (!isAscii(program)) throw new Unproven('the program is not ASCII');
  return { hardened: program.toString('latin1'), hardenedHash: sha256 };
}

/** Throw Unproven when a program is required, which an older service does not know. */
export function refuseWithout(harden: Harden | undefined): void {
  if (harden === 'HARDEN_REQUIRED') throw new Unproven('it has no hardened program');
}

/** Return the hash of the program that an envelope, or a part of it, names; empty for none. */
export function statedHash(about: unknown): string {
  const stated = isRecord(about) ? about.hardened : undefined;
  return isRecord(stated) && typeof stated.sha256 === 'string' ? stated.sha256 : '';
}

function hashOf(program: Buffer): string {
  return createHash('sha256').update(program).digest('hex');
}
