/** A guard of the caller's own: `evalward serve --parent` as a child process, supervised. */

import { type ChildProcess, spawn as start } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { Decision, DeniedDecision } from './decision.js';
import { isRecord } from './envelope.js';
import { type Evaluation, failedBy } from './evaluation.js';
import { unreachable } from './failure.js';
import { Guard, type GuardOptions, type Judge } from './guard.js';
import type { CheckOptions, EvaluateOptions, Target } from './question.js';
import { CONNECT_MS, milliseconds } from './transport.js';

export interface SpawnOptions extends Omit<GuardOptions, 'address' | 'tls' | 'token'> {
  /** Targets whose payloads may be allowed at all; none without it, unless the policy says so. */
  readonly allowEval?: readonly Target[];
  /** The command and its leading arguments; `serve` and its flags follow. `['evalward']` by default. */
  readonly command?: readonly [string, ...string[]];
  /** More flags of `evalward serve`, such as `['--policy', 'policy.yaml', '--audit-log', 'audit.jsonl']`. */
  readonly flags?: readonly string[];
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
const START_MS = 30_000; // a child that has not said where it listens by then is replaced
const STEADY_MS = 10_000; // one that served this long starts the pauses anew
const END_MS = 5_000;

/** Start a guard; it ends with this process. `await guard.ready()` before the first call. */
export function spawn(options: SpawnOptions = {}): SpawnedGuard {
  return new SpawnedGuard(options);
}

/** The guard that `spawn()` made. While its server is down, everything is a denial; a server that ends is replaced. */
export class SpawnedGuard implements Judge {
  readonly #options: SpawnOptions;
  readonly #connectMs: number;
  // Nobody else on this machine may ask, nor spend this guard's capacity.
  readonly #token = randomBytes(32).toString('hex');
  readonly #waiting = new Set<() => void>();
  #child: ChildProcess | undefined;
  #guard: Guard | undefined;
  #timer: NodeJS.Timeout | undefined;
  #state = 'has not started yet';
  #pauseMs = FIRST_PAUSE_MS;
  #isClosed = false;

  /** Throws TypeError for options that cannot be used. */
  constructor(options: SpawnOptions) {
    this.#options = structuredClone(options);
    this.#connectMs = milliseconds('connectTimeoutMs', options.connectTimeoutMs, CONNECT_MS);
    milliseconds('timeoutMs', options.timeoutMs, 1);
    this.#start();
  }

  /** The process id of the server that runs now. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Wait until the server answers; false when its start fails, or takes longer than `withinMs`. */
  async ready(withinMs = START_MS): Promise<boolean> {
    const guard = await this.#serving(withinMs);
    return guard !== undefined && (await guard.ready());
  }

  async check(code: string, options: CheckOptions): Promise<Decision> {
    const guard = await this.#serving(this.#connectMs);
    return guard === undefined ? this.#away() : guard.check(code, options);
  }

  async evaluate(code: string, options: EvaluateOptions = {}): Promise<Evaluation> {
    const guard = await this.#serving(this.#connectMs);
    return guard === undefined ? failedBy(this.#away()) : guard.evaluate(code, options);
  }

  /** End the server: it drains when its standard input closes, and is killed if it does not end in time. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#state = 'was closed';
    clearTimeout(this.#timer);
    this.#forget();
    this.#wake();
    const child = this.#child;
    if (child === undefined) return;
    await new Promise<void>((resolve) => {
      const late = setTimeout(() => child.kill('SIGKILL'), END_MS);
      const ended = () => {
        clearTimeout(late);
        resolve();
      };
      child.once('close', ended).once('error', ended);
      child.stdin?.end();
    });
  }

  #away(): DeniedDecision {
    return unreachable(`The guard's process ${this.#state}.`);
  }

  #start(): void {
    const [command, ...leading] = this.#options.command ?? ['evalward'];
    const { allowEval = [], flags = [] } = this.#options;
    const targets = allowEval.length > 0 ? [`--allow-eval=${allowEval.join(',')}`] : [];
    const child = start(
      command,
      [...leading, 'serve', '--parent', '--listen', '127.0.0.1:0', ...targets, ...flags],
      // Standard output of an MCP server is the protocol's, so the child's is read here and never passed on.
      { stdio: ['pipe', 'pipe', 'inherit'] },
    );
    this.#child = child;
    const begun = performance.now();
    this.#timer = setTimeout(() => child.kill('SIGKILL'), START_MS).unref();
    // The child must not keep this process alive: it ends when its standard input closes, and so with us.
    child.unref();
    for (const stream of [child.stdin, child.stdout]) unref(stream);
    child.stdin.on('error', () => {}); // a child that is gone is seen by its 'close'
    // Through the pipe, so that it stands in no command line, environment or file.
    child.stdin.write(`${this.#token}\n`);
    createInterface({ input: child.stdout }).once('line', (line) => this.#announced(child, line));
    child.once('error', ({ code }: NodeJS.ErrnoException) => this.#ended(child, begun, `cannot be started (${code})`));
    child.once('close', (code, signal) => this.#ended(child, begun, `ended with ${signal ?? `exit code ${code}`}`));
  }

  #announced(child: ChildProcess, line: string): void {
    const guard = child === this.#child && !this.#isClosed ? this.#clientOf(line) : undefined;
    if (guard === undefined) {
      child.kill('SIGKILL');
      return;
    }
    clearTimeout(this.#timer);
    this.#guard = guard;
    this.#wake();
  }

  /** Return a client for the server that wrote `line`; undefined when that is no ready line. */
  #clientOf(line: string): Guard | undefined {
    const { connectTimeoutMs, timeoutMs, policyDigest } = this.#options;
    try {
      const ready: unknown = JSON.parse(line);
      const listen = isRecord(ready) && ready.type === 'ready' ? ready.listen : undefined;
      if (!Array.isArray(listen) || typeof listen[0] !== 'string') return undefined;
      return new Guard({
        address: listen[0],
        token: this.#token,
        ...(connectTimeoutMs !== undefined && { connectTimeoutMs }),
        ...(timeoutMs !== undefined && { timeoutMs }),
        ...(policyDigest !== undefined && { policyDigest }),
      });
    } catch {
      return undefined;
    }
  }

  #ended(child: ChildProcess, begun: number, state: string): void {
    if (child !== this.#child) return; // an 'error' comes before its 'close', if that comes at all
    this.#child = undefined;
    if (!this.#isClosed) this.#state = state;
    this.#forget();
    this.#wake(); // whoever waits for a server that cannot start is told at once
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    if (performance.now() - begun > STEADY_MS) this.#pauseMs = FIRST_PAUSE_MS;
    this.#timer = setTimeout(() => this.#start(), this.#pauseMs).unref();
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
  }

  #forget(): void {
    this.#guard?.close();
    this.#guard = undefined;
  }

  /** Return the client of a server that serves; undefined when there is none after `withinMs`. */
  async #serving(withinMs: number): Promise<Guard | undefined> {
    if (this.#guard === undefined && !this.#isClosed) {
      await new Promise<void>((resolve) => {
        const done = () => {
          clearTimeout(late);
          this.#waiting.delete(done);
          resolve();
        };
        const late = setTimeout(done, withinMs);
        this.#waiting.add(done);
      });
    }
    return this.#guard;
  }

  #wake(): void {
    for (const done of [...this.#waiting]) done();
  }
}

function unref(stream: Readable | Writable): void {
  (stream as { unref?: () => void }).unref?.();
}
