// Files and states that a driver reads and writes for a payload. What a payload writes has a name by which nothing runs it or answers
// requests with it, and what it reads is a file that pages are given.
import { get, isArray, isObject, StringCtor } from '../natives.js';
import { deny } from '../denial.js';
import { lowerCase, match } from './captured.js';
import { isPlain } from './results.js';
import { wordsOf } from './tables.js';

// A colon begins another stream of a file on Windows.
const NAME = /^(?:[a-z]:)?[^:\0]*[^:\0\/\\.]\.([a-z0-9]+)$/;
const ORIGIN = /^https?:\/\/[^\s\/\\?#@]+\/?$/;

/** Deny a path whose name does not end in one of `endings`. */
export function judgePath(path, endings) {
  const found = typeof path === 'string' ? match(NAME, lowerCase(path)) : null;
  if (found === null || wordsOf(endings)[found[1]] !== true) deny('nested-evaluation', 'a file whose name has an ending that no list names');
}

/**
 * Deny paths that no list names, in what a method gets as an argument: a path, a list of them, or options with a `path` or `files`.
 * @param given what the host gets: a copy
 */
export function judgeFiles(given, endings) {
  if (typeof given === 'string') judgePath(given, endings);
  if (!isObject(given)) return;
  if (!isPlain(given)) deny('nested-evaluation', 'a file is no plain data');
  if (isArray(given)) {
    for (let i = 0; i < given.length; i++) judgeFiles(given[i], endings);
  } else {
    const path = get(given, 'path');
    if (path !== undefined && path !== null) judgePath(path, endings);
    judgeFiles(get(given, 'files'), endings);
  }
}

/** The name of a file that a snapshot gets: the last of the parts of a path, in options too; undefined for none. */
export function snapshotName(given) {
  if (isArray(given)) return StringCtor(given[given.length - 1]);
  return isObject(given) ? snapshotName(get(given, 'name')) : given;
}

/** Deny a stored state whose origins are no sites: a driver opens each of them as a URL. */
export function judgeState(state) {
  if (state === undefined || state === null) return;
  if (typeof state === 'string') {
    judgePath(state, 'json');
    return;
  }
  const origins = isObject(state) && isPlain(state) ? get(state, 'origins') : deny('nested-evaluation', 'a state is no plain data');
  if (origins === undefined) return;
  if (!isArray(origins)) deny('nested-evaluation', 'a state is no plain data');
  for (let i = 0; i < origins.length; i++) {
    const origin = isObject(origins[i]) && isPlain(origins[i]) ? get(origins[i], 'origin') : undefined;
    if (typeof origin !== 'string' || match(ORIGIN, lowerCase(origin)) === null) deny('nested-evaluation', 'an origin of a state is no site');
  }
}

