/** The gRPC stream of payloads: one message out, one in, each within its time. */

import { type ClientDuplexStream, status } from '@grpc/grpc-js';
import type { Challenge } from './challenge.js';

const LATE: number = status.DEADLINE_EXCEEDED;

export class MessageStream {
  readonly #call: ClientDuplexStream<Buffer, Buffer>;
  readonly #refused: (failure: unknown) => Promise<Error>;
  #take: { resolve: (bytes: Buffer | undefined) => void; reject: (failure: unknown) => void } | undefined;
  #failure: Error | undefined;
  #isOver = false;

  constructor(
    call: ClientDuplexStream<Buffer, Buffer>,
    readonly signed: Challenge | undefined,
    refused: (failure: unknown) => Promise<Error>,
  ) {
    this.#call = call;
    this.#refused = refused;
    call.on('data', (bytes: Buffer) => {
      const take = this.#take;
      this.#take = undefined;
      // An unexpected message ends the stream: the next one could be matched to another payload.
      if (take === undefined) this.#end(new Error('an unexpected reply'));
      else take.resolve(bytes);
    });
    call.on('error', (failure) => this.#end(failure));
    call.on('end', () => this.#end(undefined));
  }

  /** Send `wire` and return the next message, undefined for the end; throw what `refused` makes of a failure. */
  async exchange(wire: Buffer, withinMs: number): Promise<Buffer | undefined> {
    let late: NodeJS.Timeout | undefined;
    try {
      return await new Promise((resolve, reject) => {
        if (this.#isOver) {
          if (this.#failure === undefined) resolve(undefined);
          else reject(this.#failure);
          return;
        }
        this.#take = { resolve, reject };
        late = setTimeout(() => reject(Object.assign(new Error('late'), { code: LATE })), withinMs);
        this.#call.write(wire);
      });
    } catch (failure) {
      throw await this.#refused(failure);
    } finally {
      clearTimeout(late);
    }
  }

  close(): void {
    this.#call.cancel();
  }

  #end(failure: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#failure = failure;
    if (failure === undefined) this.#take?.resolve(undefined);
    else this.#take?.reject(failure);
    this.#take = undefined;
  }
}
