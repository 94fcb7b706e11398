/** The verdict on a tool call: it counts only if every field that will run was judged. */

import { createHash } from 'node:crypto';
import type { AllowedDecision, DeniedDecision } from './decision.js';
import { deniedBy } from './decision.js';
import { type Envelope, isRecord, Unproven } from './envelope.js';
import { provenProgram, refuseWithout, statedHash } from './hardened.js';
import { parseOnce } from './json.js';
import { prove } from './proof.js';
import type { CallRequest, CallResponse, WireField } from './protocol.js';
import type { Insisted } from './question.js';

/** A field that was judged: its RFC 6901 JSON Pointer, and the lower-case hex SHA-256 of its UTF-8 bytes. */
export interface JudgedField {
  readonly path: string;
  readonly sha256: string;
  /** The kind that the server's manifest declares (`source`, `url`, …); none from a server that judges only source. */
  readonly kind?: string;
  /** The program (ASCII) to run instead of the field; undefined where there is none. */
  readonly hardened?: string;
}

/** The kinds that have a hardened program. */
const SOURCE_KINDS: readonly (string | undefined)[] = [undefined, 'source'];
/** The kinds that are judged for a target. */
const CODE_KINDS: readonly (string | undefined)[] = [undefined, 'source', 'markup'];

interface Judged {
  /** The judged fields; empty for a tool without fields to judge. */
  readonly judged: readonly JudgedField[];
}

/** The guard's answer about a tool call. Make the call if and only if `allowed` is true. */
export type CallDecision = (AllowedDecision | DeniedDecision) & Judged;

/** Return `denial` as a decision without judged fields. */
export function callDeniedBy(denial: DeniedDecision): CallDecision {
  return Object.freeze({ ...denial, judged: [] });
}

/** Return the decision in `reply`; throw Unproven when it does not hold for `request`. */
export function callDecisionFrom(
  request: CallRequest,
  insisted: Insisted,
  reply: CallResponse,
  policyDigest: string | undefined,
): CallDecision {
  const target = reply.outcome === 'allowed' ? insisted.target : undefined;
  const { envelope, codeHash, decisionId } = prove(request, reply, target, policyDigest);
  if ((reply.tool ?? '') !== request.tool) throw new Unproven('the verdict is about another tool');
  const judged = (reply.fields ?? []).map((field) => judgedField(request, field, envelope));
  if (!envelope.ok) return Object.freeze({ ...deniedBy(envelope, codeHash), judged });
  const { target: judgedTarget, shape } = reply.binding ?? {};
  const hasCode = judged.some(({ kind }) => CODE_KINDS.includes(kind));
  if (hasCode && (judgedTarget === undefined || judgedTarget === 'TARGET_UNSPECIFIED')) {
    throw new Unproven('the verdict does not say for which target the fields were judged');
  }
  if (insisted.shape !== undefined && shape !== insisted.shape)
    throw new Unproven('the verdict is about another shape');
  if (insisted.sink !== undefined && reply.binding?.sink !== insisted.sink) {
    throw new Unproven('the verdict is about another sink');
  }
  checkFields(request, judged, insisted.runs);
  if (judged.some(({ kind, hardened }) => hardened === undefined && SOURCE_KINDS.includes(kind))) {
    refuseWithout(request.harden);
  }
  return Object.freeze({ allowed: true, code: null, envelope, codeHash, decisionId, judged });
}

/** Return `field` with its program; throw Unproven when the envelope names another one. */
function judgedField(request: CallRequest, field: WireField, envelope: Envelope): JudgedField {
  const { path = '', sha256 = '', kind = '' } = field;
  const program = provenProgram(field.hardened, request.harden);
  if (program !== undefined && (field.hardened?.sink ?? '') !== (field.sink ?? '')) {
    throw new Unproven('the program is for another sink');
  }
  const stated: unknown[] = Array.isArray(envelope.fields) ? envelope.fields : [];
  const about = stated.filter((each) => isRecord(each) && each.path === path);
  if (about.some((each) => statedHash(each) !== (field.hardened?.sha256 ?? ''))) {
    throw new Unproven('the envelope contradicts the program');
  }
  return Object.freeze({ path, sha256, ...(kind !== '' && { kind }), ...(program && { hardened: program.hardened }) });
}

function checkFields(request: CallRequest, judged: readonly JudgedField[], runs: readonly string[]): void {
  let sent: unknown;
  try {
    sent = parseOnce(request.arguments_json.toString('utf8'));
  } catch {
    throw new Unproven('the arguments are not plain JSON');
  }
  for (const { path, sha256 } of judged) {
    const text = resolved(sent, path);
    if (!text.isWellFormed()) throw new Unproven('a judged field is not UTF-8');
    if (createHash('sha256').update(text, 'utf8').digest('hex') !== sha256) {
      throw new Unproven('a judged field is not what was sent');
    }
  }
  if (!runs.every((pointer) => judged.some(({ path }) => path === pointer))) {
    throw new Unproven('a field that would run was not judged');
  }
}

/** Return the text at `path`; throw Unproven when there is none. */
function resolved(sent: unknown, path: string): string {
  const [first, ...tokens] = path.split('/');
  if (first !== '') throw new Unproven('the path of a judged field is not a JSON Pointer');
  let value = sent;
  for (const raw of tokens) {
    const token = raw.replaceAll('~1', '/').replaceAll('~0', '~');
    if (isRecord(value) && Object.hasOwn(value, token)) value = value[token];
    else if (Array.isArray(value) && /^(0|[1-9]\d*)$/.test(token) && Number(token) < value.length) {
      value = value[Number(token)];
    } else throw new Unproven('a judged field is not among the arguments');
  }
  if (typeof value !== 'string') throw new Unproven('a judged field is not text');
  return value;
}
