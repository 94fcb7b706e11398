/** JSON that has one meaning: two readers may take different values for a repeated key. */

/** Return what `text` says; throw for what is no JSON, or has a key twice in one object. */
export function parseOnce(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const open: (Set<string> | undefined)[] = [];
  let last = '""';
  // JSON.parse has read it, so that a colon stands behind a key and nowhere else.
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

/** A key stands twice in one object. */
export class RepeatedKey extends Error {}
