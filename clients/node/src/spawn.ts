/** Runs `evalward serve --parent` as a child process, and restarts it when it ends. */

import { type ChildProcess, spawn as start } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { type BatchDecision, batchDeniedBy, type ItemDecision, itemOf } from './batch.js';
import { type CallDecision, callDeniedBy } from './call.js';
import type { Decision, DeniedDecision } from './decision.js';
import { type DenialReport, unreportedBy } from './denied-run.js';
import { isRecord } from './envelope.js';
import { type Evaluation, failedBy } from './evaluation.js';
import { absent } from './failure.js';
import { Guard, type GuardOptions, type Judge } from './guard.js';
import type { CallOptions, CheckOptions, EvaluateOptions, ManyOptions, Payload, Target } from './question.js';
import { CONNECT_MS, milliseconds } from './transport.js';

export interface SpawnOptions extends Omit<GuardOptions, 'address' | 'tls' | 'token' | 'peerUid'> {
  /** Targets in which evaluation is permitted; the default is none, unless the policy permits some. */
  readonly allowEval?: readonly Target[];
  /** A policy file. */
  readonly policy?: string;
  /** The default is a file of this process in `evalward/` of XDG_STATE_HOME or ~/.local/state. */
  readonly auditLog?: string;
  /** More flags of `evalward serve`. */
  readonly flags?: readonly string[];
  /** The command and its leading arguments, before `serve` and its flags; `['evalward']` by default. */
  readonly command?: readonly [string, ...string[]];
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
const START_MS = 30_000; // a child that has not said that it serves by then is replaced
const STEADY_MS = 10_000; // one that served this long resets the pauses
const END_MS = 5_000;

/** Start a guard; it ends with this process. `await guard.ready()` before the first call. */
export function spawn(options: SpawnOptions = {}): SpawnedGuard {
  return new SpawnedGuard(options);
}

/** A guard whose server is a child process. While the server is down every call is denied; it is restarted when it ends. */
export class SpawnedGuard implements Judge {
  readonly #command: readonly [string, ...string[]];
  readonly #client: GuardOptions;
  readonly #connectMs: number;
  readonly #directory: string;
  readonly #waiting = new Set<() => void>();
  readonly #cleanUp = () => rmSync(this.#directory, { recursive: true, force: true });
  #child: ChildProcess | undefined;
  #guard: Guard | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isFirstStart = true;
  #isClosed = false;
  #state = 'is being started';
  #pauseMs = FIRST_PAUSE_MS;

  /** Throws TypeError for options that cannot be used. */
  constructor({ allowEval = [], policy, auditLog, flags = [], command = ['evalward'], ...client }: SpawnOptions) {
    this.#connectMs = milliseconds('connectTimeoutMs', client.connectTimeoutMs, CONNECT_MS);
    milliseconds('timeoutMs', client.timeoutMs, 1);
    // No other user can create a socket here, not even while the server restarts.
    this.#directory = mkdtempSync(join(tmpdir(), 'evalward-'));
    process.once('exit', this.#cleanUp);
    this.#client = { ...client, address: `unix:${join(this.#directory, 'guard.sock')}` };
    this.#command = [
      ...command,
      ...['serve', '--parent', '--listen', this.#client.address as string, '--audit-log', auditLog ?? ownLog()],
      ...(allowEval.length > 0 ? [`--allow-eval=${allowEval.join(',')}`] : []),
      ...(policy === undefined ? [] : ['--policy', policy]),
      ...flags,
    ];
    this.#start();
  }

  /** The process id of the present server. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Wait until the server answers; false when its start fails, or takes longer than `withinMs`. */
  async ready(withinMs = START_MS): Promise<boolean> {
    await this.#change(withinMs);
    return this.#guard !== undefined && (await this.#guard.ready());
  }

  async check(code: string, options: CheckOptions): Promise<Decision> {
    const guard = await this.#serving();
    return guard === undefined ? this.#away() : guard.check(code, options);
  }

  async validateCall(tool: string, argumentsJson: string, options: CallOptions = {}): Promise<CallDecision> {
    const guard = await this.#serving();
    return guard === undefined ? callDeniedBy(this.#away()) : guard.validateCall(tool, argumentsJson, options);
  }

  async validateBatch(items: readonly Payload[], options: ManyOptions = {}): Promise<BatchDecision> {
    const guard = await this.#serving();
    return guard === undefined ? batchDeniedBy(this.#away(), items.length) : guard.validateBatch(items, options);
  }

  async *validateStream(
    items: Iterable<Payload> | AsyncIterable<Payload>,
    options: ManyOptions = {},
  ): AsyncGenerator<ItemDecision, void, undefined> {
    const guard = await this.#serving();
    if (guard !== undefined) return yield* guard.validateStream(items, options);
    let index = 0;
    // eslint-disable-next-line @typescript-eslint/no-unused-vars -- only their number is used
    for await (const _ of items) {
      yield itemOf(this.#away(), index++, 'failed');
    }
  }

  async evaluate(code: string, options: EvaluateOptions = {}): Promise<Evaluation> {
    const guard = await this.#serving();
    return guard === undefined ? failedBy(this.#away()) : guard.evaluate(code, options);
  }

  async reportDenial(decisionId: string, construct: string): Promise<DenialReport> {
    const guard = await this.#serving();
    return guard === undefined ? unreportedBy(this.#away()) : guard.reportDenial(decisionId, construct);
  }

  /** End the server: it drains when its standard input closes, and is killed if it does not end in time. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#gone('was closed');
    const child = this.#child;
    if (child !== undefined) {
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
    process.off('exit', this.#cleanUp);
    this.#cleanUp();
  }

  #away(): DeniedDecision {
    return absent(`The guard's process ${this.#state}.`);
  }

  #start(): void {
    const [command, ...flags] = this.#command;
    const child = start(command, flags, {
      // An MCP server's standard output carries the protocol, so the child's output is read and discarded.
      stdio: ['pipe', 'pipe', 'inherit'],
      // ^C in the terminal ends this process, which ends the guard.
      detached: true,
    });
    this.#child = child;
    const begun = performance.now();
    this.#timer = setTimeout(() => child.kill('SIGKILL'), START_MS).unref();
    // The child must not keep this process alive; it ends with this process, when its standard input closes.
    child.unref();
    for (const stream of [child.stdin, child.stdout]) unref(stream);
    child.stdin.on('error', () => {}); // a child that is gone is seen by its 'close'
    // The token goes through the pipe, so that no command line, environment or file contains it.
    const token = randomBytes(32).toString('hex');
    child.stdin.write(`${token}\n`);
    createInterface({ input: child.stdout }).once('line', (line) => {
      if (child !== this.#child || this.#isClosed || !isReadyLine(line)) child.kill('SIGKILL');
      else this.#serve(token);
    });
    child.once('error', ({ code }: NodeJS.ErrnoException) =>
      this.#ended(child, begun, `cannot be started (${command}: ${code})`),
    );
    child.once('close', (code, signal) => this.#ended(child, begun, `ended with ${signal ?? `exit code ${code}`}`));
  }

  #serve(token: string): void {
    clearTimeout(this.#timer);
    this.#isFirstStart = false;
    this.#guard = new Guard({ ...this.#client, token });
    this.#wake();
  }

  #ended(child: ChildProcess, begun: number, state: string): void {
    if (child !== this.#child) return; // an 'error' comes before its 'close', if that comes at all
    this.#child = undefined;
    if (this.#isClosed) return;
    this.#gone(state);
    if (performance.now() - begun > STEADY_MS) this.#pauseMs = FIRST_PAUSE_MS;
    this.#timer = setTimeout(() => this.#start(), this.#pauseMs).unref();
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
  }

  #gone(state: string): void {
    clearTimeout(this.#timer);
    this.#isFirstStart = false;
    this.#state = state;
    this.#guard?.close();
    this.#guard = undefined;
    this.#wake(); // callers that wait for a server that cannot start return at once
  }

  /** Return the client of the server; a call waits only for the first start, at most the connect timeout. */
  async #serving(): Promise<Guard | undefined> {
    if (this.#isFirstStart) await this.#change(this.#connectMs);
    return this.#guard;
  }

  /** Wait until a server is ready or its start fails, at most `withinMs`. */
  async #change(withinMs: number): Promise<void> {
    if (this.#guard !== undefined || this.#isClosed) return;
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

  #wake(): void {
    for (const done of [...this.#waiting]) done();
  }
}

let logs = 0;

/** Return a log file that no other running process writes. */
function ownLog(): string {
  const folder = join(process.env.XDG_STATE_HOME || join(homedir(), '.local', 'state'), 'evalward');
  mkdirSync(folder, { mode: 0o700, recursive: true });
  logs += 1;
  return join(folder, `audit.node.${process.pid}.${logs}.jsonl`);
}

function isReadyLine(line: string): boolean {
  try {
    const ready: unknown = JSON.parse(line);
    return isRecord(ready) && ready.type === 'ready';
  } catch {
    return false;
  }
}

function unref(stream: Readable | Writable): void {
  (stream as { unref?: () => void }).unref?.();
}
