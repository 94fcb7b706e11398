// Copies the protocol, the registry of codes, the names of the sinks and the constructs' next actions into the package:
// `node scripts/embed.mjs`.
//
// They are embedded as modules, so that a bundled server finds them; the .proto itself is shipped too, for
// callers who generate their own code. `--check` writes nothing and fails unless every copy is current.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';

const here = join(dirname(fileURLToPath(import.meta.url)), '..');
const origin = join(here, '..', '..', 'proto', 'evalward', 'v1', 'evalward.proto');

// google/rpc/status.proto, the part that carries an envelope: google.rpc.Status and google.protobuf.Any.
const STATUS = `
  syntax = "proto3";
  package evalward.wire;
  message Status { int32 code = 1; string message = 2; repeated Detail details = 3; }
  message Detail { string type_url = 1; bytes value = 2; }
`;

function module(name, value) {
  return `// Made by scripts/embed.mjs.\nexport const ${name} = ${JSON.stringify(value, null, 1)};\n`;
}

const ADVICE = '{ readonly use_instead: readonly string[]; readonly repairable: string }';

function copies() {
  const text = readFileSync(origin, 'utf8');
  const root = new protobuf.Root();
  for (const source of [text, STATUS]) protobuf.parse(source, root, { keepCase: true });
  const { codes } = JSON.parse(readFileSync(join(here, 'codes.json'), 'utf8'));
  const rows = Object.fromEntries(codes.map(({ code, ...row }) => [code, row]));
  const { sinks } = JSON.parse(readFileSync(join(here, 'sinks.json'), 'utf8'));
  const ids = sinks.map(({ id }) => id);
  const { constructs } = JSON.parse(readFileSync(join(here, 'constructs.json'), 'utf8'));
  const advice = Object.fromEntries(constructs.map(({ label, ...row }) => [label, row]));
  return {
    'proto/evalward/v1/evalward.proto': text,
    'src/generated/protocol.ts': module('PROTOCOL: object', root.toJSON()),
    'src/generated/codes.ts': module('CODES', rows),
    'src/generated/constructs.ts': module(`CONSTRUCTS: { readonly [label: string]: ${ADVICE} }`, advice),
    'src/generated/sinks.ts': module('SINKS', ids).replace(/;\n$/, ' as const;\n'),
  };
}

function held(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (failure) {
    if (failure.code === 'ENOENT') return undefined;
    throw failure;
  }
}

const stale = Object.entries(copies()).filter(([name, text]) => held(join(here, name)) !== text);
if (process.argv.includes('--check')) {
  for (const [name] of stale) console.error(`${name} is not current: npm run build`);
  process.exitCode = stale.length === 0 ? 0 : 1;
} else {
  for (const [name, text] of stale) {
    mkdirSync(dirname(join(here, name)), { recursive: true });
    writeFileSync(join(here, name), text);
  }
}
