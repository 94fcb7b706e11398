/** The client, which fails closed: no answer, and no lack of one, allows by default. */

import type { Decision, DeniedDecision } from './decision.js';
import { type Evaluation, evaluationFrom, failedBy } from './evaluation.js';
import { denialOf, unreachable } from './failure.js';
import { decisionFrom } from './proof.js';
import type { EvaluateResponse, ValidateResponse } from './protocol.js';
import { type CheckOptions, type EvaluateOptions, evaluateRequest, validateRequest } from './question.js';
import { milliseconds, Transport, type TransportOptions } from './transport.js';

const CHECK_MS = 250;
const FULL_BUDGET_BYTES = 128 * 1024; // a payload above the default size limit gets proportionally more time
const RUN_MS = 1_000; // the wall time of the server's own default, for a request that names none

export interface GuardOptions extends TransportOptions {
  /** Milliseconds that a call on a connected channel may take, beside the run of an `evaluate`. */
  readonly timeoutMs?: number;
  /** Only verdicts under this policy count: its lower-case hex SHA-256, as `GetPolicy` gives it. */
  readonly policyDigest?: string;
}

/** What can judge a payload: a Guard, or one that `spawn()` supervises. */
export interface Judge {
  check(code: string, options: CheckOptions): Promise<Decision>;
}

/** A client of one service. Nothing here rejects: whatever goes wrong is a denial with an envelope. */
export class Guard implements Judge {
  readonly #transport: Transport;
  readonly #timeoutMs: number;
  readonly #policyDigest: string | undefined;

  /** Throws TypeError for options that cannot be used. */
  constructor(options: GuardOptions = {}) {
    this.#timeoutMs = milliseconds('timeoutMs', options.timeoutMs, CHECK_MS);
    this.#policyDigest = options.policyDigest;
    this.#transport = new Transport(options);
  }

  get address(): string {
    return this.#transport.address;
  }

  /** Wait until the channel is connected, at most the connecting budget; false when it is not. */
  ready(): Promise<boolean> {
    return this.#transport.ready();
  }

  /** Ask whether the target may run `code` in the declared shape. */
  async check(code: string, options: CheckOptions): Promise<Decision> {
    try {
      const request = validateRequest(code, options);
      if (!(await this.ready())) return this.#away();
      const reply = await this.#transport.call<ValidateResponse>('Validate', request, this.#budget(request.code));
      return decisionFrom(request, reply, this.#policyDigest);
    } catch (failure) {
      return denialOf(failure);
    }
  }

  /** Have `code` judged for the sandbox and run there. */
  async evaluate(code: string, options: EvaluateOptions = {}): Promise<Evaluation> {
    try {
      const request = evaluateRequest(code, options);
      if (!(await this.ready())) return failedBy(this.#away());
      const deadline = this.#budget(request.code) + (request.limits?.deadline_ms ?? RUN_MS);
      const reply = await this.#transport.call<EvaluateResponse>('Evaluate', request, deadline);
      return evaluationFrom(request, reply, this.#policyDigest);
    } catch (failure) {
      return failedBy(denialOf(failure));
    }
  }

  /** Close the channel; every later call is a denial. */
  close(): void {
    this.#transport.close();
  }

  #away(): DeniedDecision {
    return unreachable(`The guard at ${this.address} cannot be reached.`);
  }

  #budget(code: Buffer): number {
    return this.#timeoutMs * Math.max(1, code.length / FULL_BUDGET_BYTES);
  }
}
