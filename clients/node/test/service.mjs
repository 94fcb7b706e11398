// Services to test against: a fake one with scripted replies, and the real `evalward serve`.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const PROTO = fileURLToPath(new URL('../proto/evalward/v1/evalward.proto', import.meta.url));
export const definition = loadSync(PROTO, { keepCase: true, oneofs: true, longs: String, enums: String });
const { Validate, Evaluate } = definition['evalward.v1.GuardService'];

export const POLICY_DIGEST = 'a'.repeat(64);
export const RPCS = /** @type {const} */ (['check', 'evaluate']);

export const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** Return the reply of a service that allows exactly the request. */
export function trueAllow(rpc, request) {
  const binding = {
    code_hash: sha256(request.code),
    target: rpc === 'check' ? request.target : 'TARGET_SANDBOX',
    policy_digest: POLICY_DIGEST,
    decision_id: 'd1',
    profile: request.profile ?? 'PROFILE_BALANCED',
    request_id: request.request_id,
  };
  const shape = request.shape ?? (rpc === 'evaluate' ? 'SHAPE_SCRIPT' : undefined);
  const _meta = { decision_id: 'd1', provenance: { policy_digest: POLICY_DIGEST } };
  const result = rpc === 'evaluate' ? { result_json: '1' } : {};
  return {
    binding: shape === undefined ? binding : { ...binding, shape },
    allowed: rpc === 'evaluate' ? { result_json: Buffer.from('1') } : {},
    envelope: Buffer.from(JSON.stringify({ ok: true, ...result, _meta })),
  };
}

export const serialised = (rpc, reply) => (rpc === 'check' ? Validate : Evaluate).responseSerialize(reply);

/**
 * Start a fake service on a free port, or where `at` says; `answer(rpc, request, call)` returns a reply, its bytes,
 * a failure to give (an object with `code`), or undefined to never answer.
 */
export async function fakeService(t, answer, { at = '127.0.0.1:0', credentials } = {}) {
  const server = new grpc.Server();
  const method = (description) => ({ ...description, responseSerialize: (bytes) => bytes });
  const handler = (rpc) => (call, done) => {
    const reply = answer(rpc, call.request, call);
    if (reply === undefined) return;
    if (Buffer.isBuffer(reply)) done(null, reply);
    else if (typeof reply.code === 'number') done(reply);
    else done(null, serialised(rpc, reply));
  };
  server.addService(
    { Validate: method(Validate), Evaluate: method(Evaluate) },
    { Validate: handler('check'), Evaluate: handler('evaluate') },
  );
  t.after(() => server.forceShutdown());
  const port = await new Promise((resolve, reject) => {
    server.bindAsync(at, credentials ?? grpc.ServerCredentials.createInsecure(), (failure, bound) =>
      failure ? reject(failure) : resolve(bound),
    );
  });
  return { address: at.startsWith('unix:') ? at : `127.0.0.1:${port}`, stop: () => server.forceShutdown() };
}

/** Return the details of the status UNAVAILABLE that carry `envelope`. */
export function richStatus(envelope) {
  const carrier = definition['evalward.v1.ErrorEnvelope'].serialize({
    envelope: Buffer.from(JSON.stringify(envelope)),
  });
  const url = Buffer.from('type.googleapis.com/evalward.v1.ErrorEnvelope');
  const any = Buffer.concat([withField(1, url), withField(2, carrier)]);
  return Buffer.concat([Buffer.from([0x08, grpc.status.UNAVAILABLE]), withField(3, any)]);
}

/** Serialise one length-delimited field of a message. */
export function withField(number, bytes) {
  const length = [];
  for (let rest = bytes.length; ; rest >>= 7) {
    length.push(rest > 127 ? (rest & 127) | 128 : rest);
    if (rest <= 127) break;
  }
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), bytes]);
}

const PROBES = { evalward: ['--version'], openssl: ['version'] };

/**
 * Return a reason to skip when a program is missing, else false; with EVALWARD_TESTS_REQUIRE_ALL set, as in CI,
 * nothing may be missing.
 */
export function missing(...programs) {
  const absent = programs.filter((program) => spawnSync(program, PROBES[program]).error !== undefined);
  if (absent.length === 0) return false;
  if (process.env.EVALWARD_TESTS_REQUIRE_ALL) throw new Error(`${absent.join(', ')} must be installed here`);
  return `${absent.join(', ')} is not installed`;
}

const scratches = [];
// At the end of all tests: hooks of a test run in the order of creation, while servers still write.
process.on('exit', () => {
  for (const path of scratches) rmSync(path, { recursive: true, force: true });
});

/** Return a directory that is removed when this process ends. */
export function scratch() {
  const path = mkdtempSync(join(tmpdir(), 'evalward-'));
  scratches.push(path);
  return path;
}

/** Start a real `evalward serve`; `ready` is its ready line. */
export async function realService(t, ...flags) {
  const log = join(scratch(), 'audit.jsonl');
  const child = spawn('evalward', ['serve', '--audit-log', log, ...flags], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('close', resolve));
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const line = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve);
    child.once('error', reject);
    child.once('close', (code) => reject(new Error(`evalward serve ended with ${code}`)));
  });
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  return { ready: JSON.parse(line), log, kill };
}
