/** Envelopes as MCP tool results, in plain data that every MCP library accepts. */

import { type Envelope, type ErrorEnvelope, isRecord } from './envelope.js';

const OF_A_PLACE = new Set(['line', 'column', 'start', 'end', 'note']);
const LONGEST_TRACE = 3;
const MOST_FINDINGS = 6;

/** The part of MCP's CallToolResult that this package uses. */
export interface ToolResult {
  content: { type: 'text'; text: string }[];
  structuredContent: Record<string, unknown>;
  isError: boolean;
  [field: string]: unknown;
}

/**
 * Return the tool result for an envelope, or for anything that holds one: a decision, an evaluation, a DeniedError.
 *
 * The structured content is the envelope itself. The text is what a model sees: of a success the whole envelope as
 * canonical JSON, of a failure what happened, whether a rewrite repairs it, the next actions, and the details. Throws
 * TypeError for anything else.
 */
export function toCallToolResult(answer: Envelope | { readonly envelope: Envelope }): ToolResult {
  const envelope = 'ok' in answer && '_meta' in answer ? answer : answer.envelope;
  if (!isRecord(envelope) || typeof envelope.ok !== 'boolean')
    throw new TypeError('ok must be true or false in an envelope');
  return {
    content: [{ type: 'text', text: envelope.ok ? canonical(envelope) : errorText(envelope) }],
    structuredContent: { ...envelope },
    isError: !envelope.ok,
  };
}

/** Return the text of an error envelope, one item per line, its details last. */
function errorText(envelope: ErrorEnvelope): string {
  const { code, error, next_actions = [], details = {} } = envelope;
  const lines = [`${code}: ${error}`];
  if ('repairable' in details) lines.push(`Repairable: ${String(details.repairable)}`);
  if (next_actions.length > 0) lines.push('Next actions:', ...next_actions.map((action) => `- ${action}`));
  const shown = shownOf(envelope, details);
  if (Object.keys(shown).length > 0) lines.push('', canonical(shown));
  return lines.join('\n');
}

/** Return what the lines of the text leave out and a caller can use; an operator's id only if Evalward failed. */
function shownOf(envelope: ErrorEnvelope, details: Record<string, unknown>): Record<string, unknown> {
  const { findings, findings_omitted } = details;
  const left = new Set(['code_hash', 'repairable', 'rewrite']);
  if (findings_omitted === 0) left.add('findings_omitted').add('findings_total');
  if (Array.isArray(findings) && findings.length === 1) left.add('findings');
  const shown: Record<string, unknown> = Object.fromEntries(Object.entries(details).filter(([key]) => !left.has(key)));
  for (const [key, value] of Object.entries(shown)) shown[key] = placed(value);
  if (Array.isArray(shown.findings) && shown.findings.length > MOST_FINDINGS) {
    shown.findings_total ??= shown.findings.length;
    shown.findings = (shown.findings as unknown[]).slice(0, MOST_FINDINGS);
  }
  // The last steps say what was done with the value; how it was reached stands in the caller's own text.
  if (Array.isArray(shown.trace)) shown.trace = (shown.trace as unknown[]).slice(-LONGEST_TRACE);
  if (envelope.code === 'EVAL_TARGET_DENIED') delete shown.required; // the operator's flag, which no caller can set
  if (envelope.similar_refs && envelope.similar_refs.length > 0) shown.similar_refs = envelope.similar_refs;
  if (envelope.retryable) shown.retryable = true;
  if (envelope.cause === 'system') shown.decision_id = envelope._meta?.decision_id;
  return Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined));
}

/** Return a value with each location as `line:column`, and each finding and step of a trace as one text. */
function placed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(placed);
  if (!isRecord(value)) return value;
  const keys = Object.keys(value);
  if ('line' in value && 'column' in value && keys.every((key) => OF_A_PLACE.has(key))) {
    const place = `${String(value.line)}:${String(value.column)}`;
    return 'note' in value ? `${place} ${String(value.note)}` : place;
  }
  const inner: Record<string, unknown> = Object.fromEntries(keys.map((key) => [key, placed(value[key])]));
  if (keys.length === 2 && 'location' in inner && ('construct' in inner || 'keyword' in inner)) {
    const name = String(inner.construct ?? inner.keyword);
    return typeof inner.location === 'string' ? `${inner.location} ${name}` : name;
  }
  return keys.length === 1 && 'note' in inner ? inner.note : inner;
}

/** Write JSON data as the service does: keys sorted by code point, no spaces. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isRecord(value)) return JSON.stringify(value);
  // An intermediate object would order keys that look like numbers first.
  const members = Object.entries(value).filter(([, inner]) => inner !== undefined);
  members.sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return `{${members.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`).join(',')}}`;
}
