/** Unambiguous JSON: two parsers may read different values for a repeated key, so it is rejected. */

/** Return the value of `text`; throw when it is not JSON, or repeats a key in one object. */
export function parseOnce(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const open: (Set<string> | undefined)[] = [];
  let last = '""';
  // JSON.parse accepted the text, so outside of strings a colon always follows a key.
  for (const [token] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:]/g)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(undefined);
    else if (token === '}' || token === ']') open.pop();
    else if (token !== ':') last = token;
    else {
      const keys = open.at(-1);
      const key = String(JSON.parse(last));
      if (keys === undefined || keys.has(key)) throw new RepeatedKey();
      keys.add(key);
    }
  }
  return value;
}

/** A key is repeated in one object. */
export class RepeatedKey extends Error {}
