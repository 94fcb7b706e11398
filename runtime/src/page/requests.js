/** Members that ask for something, or keep what the page gets when it asks: where a request goes, and what a cache answers. */
import { apply, construct, G, regexpExec } from '../natives.js';
import { deny } from '../denial.js';
import { unwrap } from '../membrane.js';
import { readLocation, readPath, readProtocol, RealURL } from './captured.js';
import { branded, constructorOf, getter, method } from './dom.js';
import { at, includes, lower, string } from './text.js';
import { essence, isPassive, isMedia } from './urls.js';

const requestUrl = getter('Request', 'url');
const responseUrl = getter('Response', 'url');
const responseHeaders = getter('Response', 'headers');
const responseBody = getter('Response', 'body');
const responseStatus = getter('Response', 'status');
const statusText = getter('Response', 'statusText');
const readHeader = method('Headers', 'get');
const setHeader = method('Headers', 'set');
const hostName = getter('URL', 'hostname');
const makeResponse = constructorOf('Response');
const makeHeaders = constructorOf('Headers');

/** A URL relative to the page's, undefined for none. */
const resolved = (text) => {
  if (RealURL === undefined || readLocation === undefined || readPath === undefined || readProtocol === undefined) return undefined;
  try {
    return construct(RealURL, [text, `${apply(readLocation, G, [])}`]);
  } catch {
    return undefined; // the native throws its own error
  }
};

// A debugger of Chromium or WebDriver, as in hosts/urls.js: a request to it is a program.
const MARKS = ['json', 'devtools', 'session'];
const LOCAL = /^(?:[\d.]+|\[.*\]|(?:.*\.)?localhost\.?)$/;
const DEBUGGER = /^\/+(?:json(?:\/(?:new|activate|close|version|list|protocol)(?:\/.*)?)?|devtools\/.*|(?:wd\/hub\/+)?sessions?(?:\/.*)?)\/*$/;

const judgeSite = (text) => {
  const name = lower(text);
  let isMarked = false;
  for (let i = 0; i < MARKS.length; i++) isMarked ||= includes(name, MARKS[i]);
  const url = isMarked ? resolved(text) : undefined;
  if (url === undefined || apply(regexpExec, LOCAL, [hostName(url)]) === null) return;
  if (apply(regexpExec, DEBUGGER, [lower(apply(readPath, url, []))]) !== null) deny('nested-evaluation', 'the debugger of a browser');
};

/** The request or the URL, converted once, as the native gets it. */
const once = (x) => (branded(requestUrl, x) ? x : string(x));

const urlOf = (x) => (typeof x === 'string' ? x : requestUrl(x));

/** A request or a URL that is asked for, as the native gets it. */
export const judgedRequest = (x) => {
  const request = once(x);
  judgeSite(urlOf(request));
  return request;
};

/** `fetch(request)` and `xhr.open(method, url)`: the place of the URL. */
const asking = (place) => (self, args, real) => {
  if (args.length > place) args[place] = judgedRequest(args[place]);
  return apply(real, unwrap(self) === G || self === undefined ? G : self, args);
};

/** Whether a response is what the site answered to this request. */
const isAnswerTo = (response, request) => {
  const url = resolved(urlOf(request));
  const given = responseUrl(response);
  return given !== '' && url !== undefined && withoutFragment(`${url}`) === withoutFragment(given);
};

const withoutFragment = (text) => {
  let out = '';
  for (let i = 0; i < text.length && text[i] !== '#'; i++) out += text[i];
  return out;
};

/**
 * `cache.put(request, response)`: a service worker answers the page with it. So it is what the site has answered to this request, or a copy
 * that the page does not run: of a type that is no document, with the header by which it is no script either.
 */
const cached = (self, args, real) => {
  const response = at(args, 1);
  if (args.length < 2 || !branded(responseUrl, response)) return apply(real, self, args);
  const request = once(args[0]);
  if (isAnswerTo(response, request)) return apply(real, self, [request, response]);
  const headers = makeHeaders(responseHeaders(response));
  const type = essence(readHeader(headers, 'content-type') ?? '');
  if (type === '' || !isPassive(type) && !isMedia(type)) deny('dom-script-injection', 'an answer in a cache that the page may run');
  setHeader(headers, 'x-content-type-options', 'nosniff');
  const about = { __proto__: null, status: responseStatus(response), statusText: statusText(response), headers };
  return apply(real, self, [request, makeResponse(responseBody(response), about)]);
};

export const requests = {
  __proto__: null,
  asking: (member) => asking(member === 'open' ? 1 : 0),
  cached: () => cached,
};
