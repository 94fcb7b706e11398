// What a payload answers to a page's requests, or makes of them. An answer is what the page would run, so that its type has to be
// one that runs nothing, or markup that is judged; and no script or document comes from another URL than the page has asked for.
import { apply, create, createDataProperty, get, isArray, isObject, ownKeys, stringIndexOf, stringSlice, StringCtor } from '../natives.js';
import { deny, v } from '../membrane.js';
import { behind } from './behind.js';
import { copyOfBytes, lowerCase, match, textOfData } from './captured.js';
import { bytesAsText, judgeMarkup } from './markup.js';
import { isPlain } from './results.js';
import { spread } from './tables.js';
import { isInertType, isMarkupType } from './types.js';

const CHARSET = /^[^;]*(?:;\s*charset\s*=\s*"?(?:utf-?8|us-ascii|iso-8859-1|windows-1252)"?)?\s*;?\s*$/;
// Files whose type the driver takes from their name, as one that runs nothing.
const FILE = /\.(?:json|css|csv|txt|png|jpe?g|gif|webp|avif|ico|bmp|woff2?|ttf|otf|mp[34]|webm|ogg|wav)$/;
// Headers by which a browser goes elsewhere, or reads the body in another way.
const MOVING = spread(
  'location refresh link content-encoding content-location transfer-encoding service-worker-allowed speculation-rules sourcemap '
  + 'x-sourcemap use-as-dictionary supports-loading-mode origin-trial x-content-type-options',
  true, create(null),
);
// What a page asks for and does not run.
const DATA = spread('fetch xhr image media font stylesheet ping websocket eventsource texttrack', true, create(null));

const refuse = () => deny('nested-evaluation', 'the answer to a request may be run by the page');

/** What the host's object says when it is asked by the method `name`. */
const ask = (object, name) => apply(get(object, name), object, []);

/** The request that is answered: a route has one, and some drivers' requests are answered themselves. */
const requestOf = (real) => (typeof get(real, 'request') === 'function' ? ask(real, 'request') : real);

const withoutFragment = (url) => {
  const at = apply(stringIndexOf, url, ['#']);
  return at < 0 ? url : apply(stringSlice, url, [0, at]);
};

/**
 * The options of an answer to `real` as the host gets them: a copy, with the type that was judged.
 * @param {unknown} options a copy of the payload's options
 */
export function judgedAnswer(options, real) {
  if (!isObject(options)) return options;
  if (!isPlain(options) || isArray(options)) deny('nested-evaluation', 'an answer is no plain data');
  const response = get(options, 'response');
  const original = isObject(response) ? originalOf(response, real) : undefined;
  const headers = headersOf(get(options, 'headers'), original);
  const body = bodyOf(options);
  const given = typeOf(options, headers, original);
  const made = {};
  const status = get(options, 'status');
  if (status !== undefined) createDataProperty(made, 'status', +plainValue(status));
  const file = get(options, 'path');
  if (file !== undefined) {
    if (typeof file !== 'string' || match(FILE, lowerCase(file)) === null || given !== undefined && !isInertType(essence(given))) refuse();
    createDataProperty(made, 'path', file);
    if (given !== undefined) createDataProperty(made, 'contentType', given);
    createDataProperty(headers, 'x-content-type-options', 'nosniff');
  } else if (body === undefined && original !== undefined) {
    // The site's own answer, under its own type or one that runs nothing.
    if (given !== original.type) {
      if (given === undefined || !isInertType(essence(given))) refuse();
      createDataProperty(headers, 'x-content-type-options', 'nosniff');
    }
    if (given !== undefined) createDataProperty(made, 'contentType', given);
  } else if (body !== undefined && body.text !== '') {
    const type = given === undefined ? usualType(body, real) : given;
    judgeContent(body.text, essence(type));
    createDataProperty(made, 'body', body.value);
    createDataProperty(made, 'contentType', type);
    // Nothing but a script is run as a script then, and nothing but a style sheet read as one.
    createDataProperty(headers, 'x-content-type-options', 'nosniff');
  } else {
    if (body !== undefined) createDataProperty(made, 'body', '');
    if (given !== undefined) createDataProperty(made, 'contentType', given);
  }
  if (original !== undefined) createDataProperty(made, 'response', response);
  createDataProperty(made, 'headers', headers);
  return made;
}

/** The answer that the site itself has given to the same request, with its type and headers. */
function originalOf(response, real) {
  const facts = behind(v(response));
  if (facts === undefined || facts.table.path !== 'playwright.response') refuse();
  if (withoutFragment(ask(response, 'url')) !== withoutFragment(ask(requestOf(real), 'url'))) refuse();
  const headers = ask(response, 'headers');
  return { __proto__: null, headers, type: get(headers, 'content-type') };
}

const plainValue = (x) => (isObject(x) || typeof x === 'symbol' ? refuse() : x);

/** A copy of the headers with names in lower case and texts as values; those of the site's answer where none are given. */
function headersOf(given, original) {
  const made = {};
  const from = given === undefined && original !== undefined ? original.headers : given;
  if (from === undefined || from === null) return made;
  if (!isObject(from) || !isPlain(from)) refuse();
  const names = ownKeys(from);
  for (let i = 0; i < names.length; i++) {
    const name = lowerCase(names[i]);
    const value = valueOfHeader(get(from, names[i]));
    if (MOVING[name] === true && !(original !== undefined && get(original.headers, name) === value)) refuse();
    createDataProperty(made, name, value);
  }
  return made;
}

function valueOfHeader(value) {
  if (!isArray(value)) return StringCtor(plainValue(value));
  const list = [];
  for (let i = 0; i < value.length; i++) createDataProperty(list, i, StringCtor(plainValue(value[i])));
  return list;
}

/** The body as the host gets it, and as text to judge; undefined where there is none. */
function bodyOf(options) {
  const json = get(options, 'json');
  const body = json === undefined ? get(options, 'body') : textOfData(json);
  if (body === undefined || body === null) return undefined;
  if (typeof body === 'string') return { __proto__: null, value: body, text: body };
  const copy = isObject(body) ? copyOfBytes(body) : undefined;
  if (copy === undefined) refuse();
  return { __proto__: null, value: copy, text: bytesAsText(copy) };
}

/** The type that the answer says it has. */
function typeOf(options, headers, original) {
  const said = get(options, 'contentType');
  if (said !== undefined) return typeof said === 'string' ? said : refuse();
  if (get(options, 'json') !== undefined) return 'application/json';
  const listed = get(headers, 'content-type');
  if (listed === undefined && original !== undefined) return original.type;
  return listed === undefined || typeof listed === 'string' ? listed : refuse();
}

/** A type without its parameters; '' where it says an encoding that hides markup. */
function essence(type) {
  const lower = lowerCase(type);
  const found = match(/^\s*([^\s;,]+)\s*(?:;|$)/, lower);
  return found === null || match(CHARSET, lower) === null ? '' : found[1];
}

/** What a browser takes a body for that has no type. */
function usualType(body, real) {
  if (ask(requestOf(real), 'resourceType') === 'stylesheet') return 'text/css';
  if (match(/^\s*</, body.text) !== null) return 'text/html';
  return typeof body.value === 'string' ? 'text/plain' : 'application/octet-stream';
}

function judgeContent(text, type) {
  if (isInertType(type)) return;
  if (!isMarkupType(type)) refuse();
  judgeMarkup(text);
}

/** What an intercepted request becomes: only what is no script or document may come from elsewhere. */
export function judgedRequest(options, real) {
  if (!isObject(options)) return options;
  if (!isPlain(options) || isArray(options)) deny('nested-evaluation', 'the request is no plain data');
  const url = get(options, 'url');
  if (url === undefined || url === null) return options;
  const request = requestOf(real);
  if (typeof url !== 'string') refuse();
  if (url !== ask(request, 'url') && DATA[ask(request, 'resourceType')] !== true) refuse();
  return options;
}
