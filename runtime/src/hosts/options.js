// The options of a window: its page gets no more than a page has. The same rules as in the resolver (electron_apis.py).
import { get, isObject, ownKeys } from '../natives.js';
import { deny } from '../membrane.js';
import { isPlain } from './results.js';
import { settingOf } from './tables.js';

const SAFE = { __proto__: null, 0: false, 1: true };

/** Deny options that were copied to plain data and hold a setting which gives a page more. */
export function judgeOptions(options) {
  // Anything else goes to the host as it is, and may answer otherwise when the host reads it.
  if (isObject(options) && !isPlain(options)) deny('electron', 'options are no plain data');
  // What macOS does for an item of a menu, such as to end the application.
  if (isObject(options) && get(options, 'selector') !== undefined) deny('electron-lifecycle', 'a selector of the system');
  const preferences = isObject(options) ? get(options, 'webPreferences') : undefined;
  if (preferences === undefined || preferences === null) return;
  if (!isObject(preferences) || !isPlain(preferences)) deny('electron', 'webPreferences are no plain data');
  const keys = ownKeys(preferences);
  for (let i = 0; i < keys.length; i++) judgeSetting(keys[i], get(preferences, keys[i]));
}

/** Deny a setting of a page that gives it more than a page has. */
export function judgeSetting(name, value) {
  const rule = settingOf(name);
  if (rule === undefined || (rule !== '-' && value !== SAFE[rule])) deny('electron', 'a page is given what only the host may have');
}
