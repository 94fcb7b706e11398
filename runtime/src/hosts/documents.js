// URLs that a host opens and documents that it shows: those that hold script of their own are denied (guard/markup.py).
import { apply, get, isObject, stringIndexOf, stringSlice } from '../natives.js';
import { deny } from '../membrane.js';
import { letter, lowerCase, match, unescaped } from './captured.js';

const SCRIPT_URL = /^[\0-\x20]*(?:(?:java|vb)script:|data:(?:(?:text|application)\/(?:x-)?(?:java|ecma)script|,[^\s]))/;
const DOCUMENT_URL = /^[\0-\x20]*data:(?:text\/html|image\/svg\+xml|application\/(?:xhtml\+)?xml|text\/xml|multipart|message)([^,]*),/;
const TAG = /<[\s\/]*(?:[\w.-]+\s*:\s*)?(?:script|iframe|frame|object|embed|base|meta|link|use|animate|set|portal|fencedframe)\b/;
const HANDLER = /[\s"'\/]on[a-z]+\s*=/;
const SCHEME = /srcdoc|(?:java|vb)script:|data:text\/html/;
const DECLARATION = /<!\s*(?:entity|attlist)|<\?xml-stylesheet|[\0-\x08\x0b\x0e-\x1f\x7f]/;
const ENTITY = /&(?:#x([\da-f]+);?|#(\d+);?|(tab|newline|colon|lpar|rpar);)/;
const NAMED = { __proto__: null, tab: '\t', newline: '\n', colon: ':', lpar: '(', rpar: ')' };
const MOST = 100_000;

/** `url`, if following it runs no script of the payload's. @throws a denial */
export function judgeUrl(url) {
  const bare = lowerCase(withoutBlanks(url));
  if (match(SCRIPT_URL, bare) !== null) deny('nested-evaluation', 'the URL is a script');
  const document = match(DOCUMENT_URL, bare);
  if (document === null) return url;
  if (match(/;base64/, document[1]) !== null) deny('nested-evaluation', 'the URL is an encoded document');
  judgeMarkup(unescaped(apply(stringSlice, url, [apply(stringIndexOf, url, [',']) + 1])));
  return url;
}

/** A URL parser drops tabs and line ends wherever they are. */
function withoutBlanks(text) {
  let out = '';
  for (let i = 0; i < text.length; i++) if (text[i] !== '\t' && text[i] !== '\n' && text[i] !== '\r') out += text[i];
  return out;
}

/** `markup`, if a page that shows it runs no script. @throws a denial */
export function judgeMarkup(markup) {
  const read = lowerCase(decoded(markup));
  const bare = withoutControls(read);
  if (match(TAG, read) || match(HANDLER, read) || match(DECLARATION, read) || match(SCHEME, read) || match(SCHEME, bare)) {
    deny('nested-evaluation', 'the page\'s content holds script');
  }
  return markup;
}

function withoutControls(text) {
  let out = '';
  for (let i = 0; i < text.length; i++) if (text[i] > ' ') out += text[i];
  return out;
}

/** `text` with the character references with which a scheme can be spelled. */
function decoded(text) {
  let out = '';
  for (let rest = text, left = MOST; ; left--) {
    const found = match(ENTITY, lowerCase(rest));
    if (found === null) return out + rest;
    if (left === 0) deny('analysis-limit', 'too many character references');
    out += apply(stringSlice, rest, [0, found.index]) + reference(found);
    rest = apply(stringSlice, rest, [found.index + found[0].length]);
  }
}

const reference = (found) => (found[3] !== undefined ? NAMED[found[3]] : letter(+(found[1] !== undefined ? '0x' + found[1] : found[2])));

/** The bytes of a typed array as text, one character each. */
export function bytesAsText(bytes) {
  let out = '';
  const length = get(bytes, 'length');
  for (let i = 0; i < length; i++) {
    const byte = get(bytes, i);
    if (isObject(byte)) deny('nested-evaluation', 'a body that is no text');
    out += letter(byte);
  }
  return out;
}
