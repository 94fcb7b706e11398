// URLs that a host opens: allowed are those of sites and files, and `data:` URLs whose content is surely inert.
import { apply, stringIndexOf, stringSlice } from '../natives.js';
import { deny } from '../membrane.js';
import { letter, lowerCase, match } from './captured.js';
import { judgeMarkup } from './markup.js';
import { isInertType, isMarkupType } from './types.js';

const SCHEME = /^([a-z][a-z0-9+.-]*):/;
const SITE = /^(?:https?|wss?|file|app):/;
const BLANK = /^about:blank(?:[?#]|$)/;
// A type as the Fetch standard reads it, with no parameter that could mean another encoding.
const HEADER = /^([a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+)?(?:;(?:charset=(?:utf-8|us-ascii|iso-8859-1|windows-1252)|utf-?8))?(;base64)?$/;
const HEX = '0123456789abcdef';

/** `url`, if following it runs no script of the payload's. @throws a denial */
export function judgeUrl(url) {
  const bare = withoutBlanks(url);
  const lower = lowerCase(bare);
  // Without a scheme it is relative to where the host is.
  if (match(SCHEME, lower) === null || match(SITE, lower) !== null || match(BLANK, lower) !== null) return url;
  if (apply(stringIndexOf, lower, ['data:']) !== 0) deny('nested-evaluation', 'the URL is no page of a site');
  const comma = apply(stringIndexOf, bare, [',']);
  const header = comma < 0 ? null : match(HEADER, apply(stringSlice, lower, [5, comma]));
  if (header === null) deny('nested-evaluation', 'the type of a data: URL');
  const content = apply(stringSlice, bare, [comma + 1]);
  const [, type, encoded] = header;
  if (type === undefined ? content === '' : isInertType(type)) return url;
  if (type === undefined || !isMarkupType(type)) deny('nested-evaluation', 'the type of a data: URL');
  if (encoded !== undefined) deny('nested-evaluation', 'the URL is an encoded document');
  judgeMarkup(unescaped(content));
  return url;
}

/** `text` as a URL parser reads it: without tabs and line ends, and without blanks around it. */
function withoutBlanks(text) {
  let out = '';
  let from = 0;
  let to = text.length;
  while (from < to && text[from] <= ' ') from++;
  while (to > from && text[to - 1] <= ' ') to--;
  for (let i = from; i < to; i++) if (text[i] !== '\t' && text[i] !== '\n' && text[i] !== '\r') out += text[i];
  return out;
}

/** `text` without its percent escapes, one character for each byte; what is no escape stays as it is. */
function unescaped(text) {
  let out = '';
  for (let i = 0; i < text.length; i++) {
    const high = text[i] === '%' && i + 2 < text.length ? digit(text, i + 1) : -1;
    const low = high < 0 ? -1 : digit(text, i + 2);
    out += low < 0 ? text[i] : letter(16 * high + low);
    if (low >= 0) i += 2;
  }
  return out;
}

const digit = (text, at) => apply(stringIndexOf, HEX, [lowerCase(text[at])]);
