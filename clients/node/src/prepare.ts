/** A page that has the run-time before its scripts run: `prepare` puts it there, `guarded` sends its key. */

import { type ErrorEnvelope, isRecord } from './envelope.js';
import type { Preparation } from './preparation.js';

/** A prepared page, for the option `prepared` of `guarded`. `key` is a secret; `version` is that of the run-time. */
export interface Prepared {
  readonly key: string;
  readonly version: string;
}

interface Frame {
  evaluate(script: string): Promise<unknown>;
}

/** A page or a context of Playwright, or a page of Puppeteer. */
export type PreparablePage = (
  | { addInitScript(script: { content: string }): Promise<unknown> }
  | { evaluateOnNewDocument(script: string): Promise<unknown> }
) &
  ({ frames(): readonly Frame[] } | { pages(): readonly { frames(): readonly Frame[] }[] });

/** What gives the script: `Guard`, or anything with this method of it. */
export interface Preparer {
  prepareRuntime(): Promise<Preparation>;
}

/** The guard gave nothing to prepare a page with, and the page is as it was; `envelope` says why. */
export class PrepareError extends Error {
  override readonly name = 'PrepareError';
  readonly code: string;

  constructor(readonly envelope: ErrorEnvelope) {
    const isOlder = isRecord(envelope.details) && envelope.details['grpc_status'] === 'UNIMPLEMENTED';
    const why = isOlder ? 'The service is older than this client and cannot prepare pages.' : envelope.error;
    super(`The page is not prepared (${envelope.code}): ${why}`);
    this.code = envelope.code;
  }
}

/**
 * Put the run-time of hardened programs into `page`, and return what `guarded` takes as `prepared`.
 *
 * Every later document, and every frame in it, has the run-time before its scripts run; so has what is open now. A program
 * made with the result is small and runs only there. Prepare a page before it opens anything. Rejects with PrepareError
 * when the guard gives no answer.
 */
export async function prepare(page: PreparablePage, guard: Preparer): Promise<Prepared> {
  const reply = await guard.prepareRuntime();
  if (reply.code !== null) throw new PrepareError(reply.envelope);
  const { script, key, version } = reply;
  if ('addInitScript' in page) await page.addInitScript({ content: script });
  else await page.evaluateOnNewDocument(script);
  const pages = 'pages' in page ? page.pages() : [page];
  for (const each of pages) for (const frame of each.frames()) await frame.evaluate(script);
  return Object.freeze({ key, version });
}
