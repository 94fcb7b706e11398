// The addresses that are accepted, and that no other process can answer in the guard's place.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ServerCredentials, status } from '@grpc/grpc-js';
import { Guard } from 'evalward';
import { fakeService, missing, scratch, trueAllow } from './service.mjs';

const ASKED = /** @type {const} */ ({ target: 'renderer' });

async function allowedAt(t, options) {
  const guard = new Guard({ timeoutMs: 10_000, connectTimeoutMs: 10_000, ...options });
  t.after(() => guard.close());
  return (await guard.check('1', ASKED)).allowed;
}

/** Make a self-signed certificate for 127.0.0.1 and the name guard.test. */
function certificate(directory, name) {
  const [key, certificate] = [join(directory, `${name}.key`), join(directory, `${name}.pem`)];
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
      ...['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1,DNS:guard.test'],
      ...['-keyout', key, '-out', certificate],
    ],
    { stdio: 'pipe' },
  );
  return { key: readFileSync(key), certificate: readFileSync(certificate) };
}

test('TCP, by name and by number', async (t) => {
  const { address } = await fakeService(t, trueAllow);
  assert.equal(await allowedAt(t, { address }), true);
  assert.equal(await allowedAt(t, { address: address.replace('127.0.0.1', 'localhost') }), true);
});

test('a Unix socket', async (t) => {
  const { address } = await fakeService(t, trueAllow, { at: `unix:${join(scratch(), 'evalward.sock')}` });
  assert.equal(await allowedAt(t, { address }), true);
});

test('EVALWARD_ADDRESS is the default, and an option goes before it', async (t) => {
  const { address } = await fakeService(t, trueAllow);
  const before = process.env.EVALWARD_ADDRESS;
  t.after(() => {
    if (before === undefined) delete process.env.EVALWARD_ADDRESS;
    else process.env.EVALWARD_ADDRESS = before;
  });
  process.env.EVALWARD_ADDRESS = address;
  assert.equal(await allowedAt(t, {}), true);
  process.env.EVALWARD_ADDRESS = 'unix:nowhere.sock';
  assert.equal(await allowedAt(t, { address }), true);
  process.env.EVALWARD_ADDRESS = '';
  assert.equal(new Guard().address, '127.0.0.1:7443');
});

test('a proxy from the environment is not asked', async (t) => {
  const { address } = await fakeService(t, trueAllow);
  for (const name of ['http_proxy', 'grpc_proxy']) {
    process.env[name] = 'http://127.0.0.1:1';
    t.after(() => delete process.env[name]);
  }
  assert.equal(await allowedAt(t, { address }), true);
});

test('an address or an option that cannot be used is refused at once', () => {
  const addresses = ['', 'unix:', 'nowhere', 'host:', ':1', 'http://127.0.0.1:1', '127.0.0.1:70000', '::1:1', 'a b:1'];
  for (const address of addresses) {
    if (address) assert.throws(() => new Guard({ address }), TypeError, address);
  }
  assert.throws(() => new Guard({ address: 'unix:/s', tls: true }), TypeError);
  assert.throws(() => new Guard({ token: 'a b' }), TypeError);
  assert.throws(() => new Guard({ token: 'a\r\nb: c' }), TypeError);
  for (const time of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => new Guard({ timeoutMs: time }), TypeError);
    assert.throws(() => new Guard({ connectTimeoutMs: time }), TypeError);
  }
});

test('plain text beyond this machine is refused', () => {
  for (const address of ['10.0.0.1:7443', 'guard.example:7443', '127.0.0.1.example:7443', '[2001:db8::1]:7443']) {
    assert.throws(() => new Guard({ address }), /needs tls/);
    new Guard({ address: `tls:${address}` }).close();
  }
});

test('TLS', { skip: missing('openssl') }, async (t) => {
  const directory = scratch();
  const [server, other] = [certificate(directory, 'server'), certificate(directory, 'other')];
  const pair = { private_key: server.key, cert_chain: server.certificate };
  const credentials = ServerCredentials.createSsl(null, [pair]);
  const { address } = await fakeService(t, trueAllow, { credentials });
  const mutual = await fakeService(t, trueAllow, {
    credentials: ServerCredentials.createSsl(other.certificate, [pair], true),
  });
  const plain = await fakeService(t, trueAllow);
  const ca = server.certificate;
  const short = { connectTimeoutMs: 500 };

  assert.equal(await allowedAt(t, { address, tls: { ca } }), true);
  assert.equal(await allowedAt(t, { address: `tls:${address}`, tls: { ca: ca.toString() } }), true);
  assert.equal(await allowedAt(t, { address, tls: { ca, serverName: 'guard.test' } }), true);
  assert.equal(await allowedAt(t, { address: mutual.address, tls: { ca, ...other } }), true);

  const denied = [
    { address },
    { address, tls: true },
    { address: `tls:${address}` },
    { address, tls: { ca: other.certificate } },
    { address, tls: { ca, serverName: 'elsewhere.test' } },
    { address: mutual.address, tls: { ca } },
    { address: mutual.address, tls: { ca, ...server } },
    { address: plain.address, tls: { ca } },
  ];
  for (const options of denied) assert.equal(await allowedAt(t, { ...options, ...short }), false);
});

test('a token goes with every call over a Unix socket', async (t) => {
  const answer = (rpc, request, call) =>
    call.metadata.get('authorization')[0] === 'Bearer s3cret'
      ? trueAllow(rpc, request)
      : { code: status.UNAUTHENTICATED, details: 'no' };
  const { address } = await fakeService(t, answer, { at: `unix:${join(scratch(), 'evalward.sock')}` });
  assert.equal(await allowedAt(t, { address, token: 's3cret' }), true);
  assert.equal(await allowedAt(t, { address, token: 'guess' }), false);
  assert.equal(await allowedAt(t, { address }), false);
});
