/** Members that ask for something, or keep what the page gets when it asks: where a request goes, and what a cache answers. */
import { apply, construct, G } from '../natives.js';
import { deny } from '../denial.js';
import { unwrap } from '../membrane.js';
import { judgeSite, resolved } from './debugger.js';
import { branded, constructorOf, getter, method } from './dom.js';
import { at, string } from './text.js';
import { essence, isPassive, isMedia } from './urls.js';

const requestUrl = getter('Request', 'url');
const responseUrl = getter('Response', 'url');
const responseHeaders = getter('Response', 'headers');
const responseBody = getter('Response', 'body');
const responseStatus = getter('Response', 'status');
const statusText = getter('Response', 'statusText');
const readHeader = method('Headers', 'get');
const setHeader = method('Headers', 'set');
const makeResponse = constructorOf('Response');
const makeHeaders = constructorOf('Headers');

/** The request or the URL, converted once, as the native gets it. */
const once = (x) => (branded(requestUrl, x) ? x : string(x));

const urlOf = (x) => (typeof x === 'string' ? x : requestUrl(x));

/** A request or a URL that is asked for, as the native gets it. */
export const judgedRequest = (x) => {
  const request = once(x);
  judgeSite(urlOf(request));
  return request;
};

/** `fetch(request)`, `navigator.sendBeacon(url)` and `xhr.open(method, url)`: the place of the URL. */
const asking = (place) => (self, args, real) => {
  if (args.length > place) args[place] = judgedRequest(args[place]);
  return apply(real, unwrap(self) === G || self === undefined ? G : self, args);
};

/** `new WebSocket(url)` and `new EventSource(url)`. */
const connecting = {
  __proto__: null,
  call: (self, args, real) => apply(real, self, args),
  construct(args, newTarget, real) {
    if (args.length > 0) judgeSite(args[0] = string(args[0]), true);
    return construct(real, args, newTarget);
  },
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
  connecting: () => connecting,
  cached: () => cached,
};
