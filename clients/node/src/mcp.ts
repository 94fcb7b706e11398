/** Envelopes as MCP tool results, in plain data that every MCP library accepts. */

import { type Envelope, type ErrorEnvelope, isRecord } from './envelope.js';

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
 * The structured content is the envelope itself. The text is what a model sees: what happened, the hint, the next
 * actions, and the whole envelope as canonical JSON. Throws TypeError for anything else.
 */
export function toCallToolResult(answer: Envelope | { readonly envelope: Envelope }): ToolResult {
  const envelope = 'ok' in answer && '_meta' in answer ? answer : answer.envelope;
  if (!isRecord(envelope) || typeof envelope.ok !== 'boolean')
    throw new TypeError('ok must be true or false in an envelope');
  const json = canonical(envelope);
  return {
    content: [{ type: 'text', text: envelope.ok ? json : `${errorText(envelope)}\n\n${json}` }],
    structuredContent: { ...envelope },
    isError: !envelope.ok,
  };
}

/** Return the text of an error envelope, one item per line. */
function errorText({ code, error, hint, next_actions = [] }: ErrorEnvelope): string {
  const actions = next_actions.map((action) => `- ${action}`);
  return [`${code}: ${error}`, `Hint: ${hint}`, ...(actions.length > 0 ? ['Next actions:', ...actions] : [])].join(
    '\n',
  );
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
