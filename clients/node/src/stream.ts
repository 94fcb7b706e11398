/**
 * A stream of payloads without its I/O: each is asked about, and proven, by itself and in order.
 *
 * One payload is sent and its answer taken before the next. Whatever goes wrong ends the stream: that payload is denied,
 * and so is each one behind it, without being sent.
 */

import { type ItemDecision, itemOf, STATUSES } from './batch.js';
import { type Challenge, Transcript } from './challenge.js';
import type { Decision, DeniedDecision } from './decision.js';
import { Unproven } from './envelope.js';
import { denialOf, Forged } from './failure.js';
import { decisionFrom } from './proof.js';
import { codecOf, parsed, type StreamResponse, type ValidateRequest } from './protocol.js';
import { itemRequest, type ManyOptions, manyOptions, type Payload } from './question.js';

const CODEC = codecOf('ValidateStream');

export class Conversation {
  readonly #options: Required<ManyOptions>;
  readonly #policyDigest: string | undefined;
  readonly #transcript: Transcript | undefined;
  #request: ValidateRequest | undefined;
  #index = -1;
  #firstFailure: Decision | undefined;
  #over: DeniedDecision | undefined;

  /** Throws Unbuilt. */
  constructor(options: ManyOptions, policyDigest: string | undefined, challenge: Challenge | undefined) {
    this.#options = manyOptions(options);
    this.#policyDigest = policyDigest;
    this.#transcript = challenge && new Transcript(challenge);
  }

  /** The bytes of the payload that is asked about. */
  get size(): number {
    return this.#request?.code.length ?? 0;
  }

  /** Return what to send about `item`, or its denial when it cannot be sent. */
  asked(item: Payload): Buffer | ItemDecision {
    this.#index += 1;
    if (this.#over !== undefined) return this.#denied(this.#over);
    try {
      this.#request = itemRequest(item, this.#options.sessionId);
    } catch (failure) {
      return this.ended(denialOf(failure));
    }
    const stops = this.#options.stopOnFirst && this.#index === 0;
    const wire = CODEC.requestSerialize({ item: this.#request, stop_on_first: stops });
    this.#transcript?.request(wire);
    return wire;
  }

  /** Return the decision in `response` about the payload that was asked about last; undefined: there is none. */
  answered(response: Buffer | undefined): ItemDecision {
    try {
      if (response === undefined) throw new Unproven('the stream ended without it');
      const proven = this.#transcript === undefined ? response : this.#transcript.checked(response);
      if (proven === undefined) throw new Forged();
      return this.#decision(parsed(CODEC, proven) as StreamResponse);
    } catch (failure) {
      return this.ended(denialOf(failure));
    }
  }

  /** Deny the present payload and all behind it, for what `why` says. */
  ended(why: DeniedDecision): ItemDecision {
    this.#over = why;
    return this.#denied(why);
  }

  #denied(why: DeniedDecision): ItemDecision {
    return itemOf(why, this.#index, 'failed');
  }

  #decision(response: StreamResponse): ItemDecision {
    const status = STATUSES[String(response.status)];
    if ((response.item_index ?? 0) !== this.#index || status === undefined || this.#request === undefined) {
      throw new Unproven('the verdict is about another item');
    }
    if (status === 'skipped') {
      if (this.#firstFailure === undefined || response.outcome !== undefined || !this.#options.stopOnFirst) {
        throw new Unproven('an item is skipped behind none that failed');
      }
      return itemOf(this.#firstFailure, this.#index, status);
    }
    if (response.outcome !== (status === 'allowed' ? 'allowed' : 'error')) {
      throw new Unproven('the reply has no outcome');
    }
    const decision = decisionFrom(this.#request, response, this.#policyDigest);
    if (!decision.allowed) this.#firstFailure ??= decision;
    return itemOf(decision, this.#index, status);
  }
}
