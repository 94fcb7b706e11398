// The page of the eval tool, in a new Chromium or in one that is already running.
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import puppeteer from 'puppeteer-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'chrome'];
const RUN_MS = 5_000;

const PAGE = `<title>Shop</title><ul><li data-price="3">tea</li><li data-price="4">milk</li></ul>`;

/** Return the path of an installed Chromium: CHROMIUM, or the first one on PATH; undefined when there is none. */
export function chromium() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  const folders = (process.env.PATH ?? '').split(delimiter);
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path));
}

/** Start a Chromium with an example page. */
export async function launch() {
  const executablePath = chromium();
  if (executablePath === undefined) throw new Error('no Chromium on PATH; set CHROMIUM to one');
  const rootless = process.getuid?.() === 0 ? ['--no-sandbox'] : []; // Chromium has no sandbox for root
  const browser = await puppeteer.launch({ executablePath, args: [...rootless, '--disable-dev-shm-usage'] });
  const [page] = await browser.pages();
  await page.setContent(PAGE);
  return browser;
}

/** Connect to the Chromium at CHROMIUM_ENDPOINT (its DevTools WebSocket), else start one. */
export async function openBrowser() {
  const endpoint = process.env.CHROMIUM_ENDPOINT;
  return endpoint ? puppeteer.connect({ browserWSEndpoint: endpoint }) : launch();
}

/** An exception of the page. */
export class PageError extends Error {}

/**
 * Return a sink for `script`: it evaluates the text unchanged in the browser's first page, for at most five seconds,
 * and returns its value, which must be JSON data.
 */
export async function evaluator(browser) {
  const [page] = await browser.pages();
  const session = await page.createCDPSession();
  return async (/** @type {string} */ script) => {
    const run = session.send('Runtime.evaluate', {
      expression: script,
      awaitPromise: true,
      returnByValue: true,
      timeout: RUN_MS,
    });
    const { result, exceptionDetails } = await withinTime(run);
    if (exceptionDetails) throw new PageError(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value ?? null;
  };
}

/** Chromium's own timeout ends a loop; this one ends a promise that never settles. */
async function withinTime(run) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new PageError('The evaluation did not end in time.')), RUN_MS);
  });
  try {
    return await Promise.race([run, late]);
  } finally {
    clearTimeout(timer);
  }
}
