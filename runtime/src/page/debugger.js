/** A debugger of Chromium or WebDriver, as in hosts/urls.js: a request to it is a program, whatever in the page sends it. */
import { apply, construct, G, getPrototypeOf, regexpExec, TypeError } from '../natives.js';
import { deny } from '../denial.js';
import { readLocation, readPath, RealURL } from './captured.js';
import { baseUrl, getter, home } from './dom.js';
import { lower } from './text.js';

const ParseError = TypeError.prototype;
const hostName = getter('URL', 'hostname');
const originOf = getter('URL', 'origin');

/** What URLs are relative to: a payload may change it by `history`. */
const base = () => (home === undefined ? `${apply(readLocation, G, [])}` : baseUrl(home));

/** A URL relative to the document's base, undefined for none. */
export const resolved = (text) => {
  if (RealURL === undefined || readLocation === undefined || readPath === undefined) return undefined;
  try {
    return construct(RealURL, [text, base()]);
  } catch (error) {
    if (getPrototypeOf(error) !== ParseError) throw error; // a stack overflow says nothing
    return undefined; // the native throws its own error
  }
};

// A parser drops tabs and line breaks wherever they are.
const MARKED = /json|devtools|session|[\da-f]{8}|[\t\n\r]/i;
const LOCAL = /^(?:[\d.]+|\[.*\]|(?:.*\.)?localhost\.?)$/;
const DEBUGGER = /^\/+(?:json(?:\/(?:new|activate|close|version|list|protocol)(?:\/.*)?)?|devtools\/.*|(?:wd\/hub\/+)?sessions?(?:\/.*)?)\/*$/;
// A socket of Node's inspector, or of a driver's server.
const INSPECTOR = /^\/+[\da-f]{8}-?(?:[\da-f]{4}-?){3}[\da-f]{12}\/*$/;

/** The URL, if a debugger may answer to it. */
const debuggerAt = (text, isSocket) => {
  const isMarked = apply(regexpExec, MARKED, [text]) !== null || readLocation !== undefined && apply(regexpExec, MARKED, [base()]) !== null;
  const url = isMarked ? resolved(text) : undefined;
  if (url === undefined || apply(regexpExec, LOCAL, [hostName(url)]) === null) return undefined;
  const path = lower(apply(readPath, url, []));
  const isInspector = isSocket && apply(regexpExec, INSPECTOR, [path]) !== null;
  return isInspector || apply(regexpExec, DEBUGGER, [path]) !== null ? url : undefined;
};

const refuse = () => deny('nested-evaluation', 'the debugger of a browser');

/** Deny the URL of a request to a debugger, or of a socket, for which `http:` means `ws:`. */
export const judgeSite = (text, isSocket = false) => {
  if (debuggerAt(text, isSocket) !== undefined) refuse();
};

/** The same for what a page loads or links to: an application on this machine may have sessions, too, and link to its own. */
export const judgeLinked = (text) => {
  const url = debuggerAt(text, false);
  if (url === undefined) return;
  const own = resolved(`${apply(readLocation, G, [])}`);
  if (own === undefined || originOf(own) !== originOf(url)) refuse();
};
