/** A denial while a hardened program runs, as drivers deliver it: an error's text, or a reply of the DevTools protocol. */

import { isRecord } from './envelope.js';
import { CONSTRUCTS } from './generated/constructs.js';

const NAMED = 'EvalwardDenied: ';
const MOST_TEXT = 4_096;
const MOST_CAUSES = 4;
const MESSAGE = /evalward denied ([!-~]{1,128}(?: [!-~]{1,128}){0,3})/;
const PROCESS_MEMBER = /^process\.[A-Za-z_$][A-Za-z0-9_$]{0,63}$/;
/** Stands for the members of `process` that have no label of their own. */
const PROCESS_FAMILY = 'process.<member>';

/** Return the construct that the denial in `text` names, a label of the catalogue; undefined for any other text. */
export function deniedConstruct(text: string): string | undefined {
  const words = MESSAGE.exec(text.slice(0, MOST_TEXT))?.[1]?.split(' ') ?? [];
  for (let count = words.length; count > 0; count -= 1) {
    const label = words.slice(0, count).join(' ');
    const found = [label, label.replace(/[:;,.]+$/, '')].find(isKnownLabel);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Return the construct whose denial `thrown` tells, which a sink threw; undefined for any other exception.
 *
 * Playwright and Puppeteer tell the error's name and message, chromedriver the message alone. A sink may wrap the error
 * and keep it as the `cause`.
 */
export function constructInError(thrown: unknown): string | undefined {
  let error = thrown;
  for (let depth = 0; depth < MOST_CAUSES; depth += 1) {
    const text = isRecord(error) ? error.message : error;
    const construct = typeof text === 'string' ? deniedConstruct(text) : undefined;
    if (construct !== undefined || !isRecord(error)) return construct;
    error = error.cause;
  }
  return undefined;
}

/**
 * Return the construct whose denial a sink returned as data; undefined for any other result.
 *
 * Data of this kind are an exception, its text, the `exceptionDetails` of the DevTools protocol, with or without the frame
 * of its message, and an envelope: `{ok: false, error}` with the text of the error.
 */
export function constructInResult(result: unknown): string | undefined {
  if (typeof result === 'string') return result.startsWith(NAMED) ? deniedConstruct(result) : undefined;
  if (result instanceof Error) return constructInError(result);
  if (!isRecord(result)) return undefined;
  if (result.ok === false && typeof result.error === 'string') return deniedConstruct(result.error);
  return thrownIn(result) ?? (isRecord(result.result) ? thrownIn(result.result) : undefined);
}

/** Return what to do instead of `construct`, and where; undefined for a label that this version does not know. */
export function adviceOn(construct: string): (typeof CONSTRUCTS)[string] | undefined {
  const label = Object.hasOwn(CONSTRUCTS, construct) || !PROCESS_MEMBER.test(construct) ? construct : PROCESS_FAMILY;
  return Object.hasOwn(CONSTRUCTS, label) ? CONSTRUCTS[label] : undefined;
}

function isKnownLabel(label: string): boolean {
  return (label !== PROCESS_FAMILY && Object.hasOwn(CONSTRUCTS, label)) || PROCESS_MEMBER.test(label);
}

function thrownIn({ exceptionDetails: details }: Record<string, unknown>): string | undefined {
  if (!isRecord(details)) return undefined;
  const description = isRecord(details.exception) ? details.exception.description : undefined;
  const text = typeof description === 'string' ? description : details.text;
  return typeof text === 'string' ? deniedConstruct(text) : undefined;
}
