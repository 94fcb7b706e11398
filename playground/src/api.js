// Questions to the server of this page. Its address holds the token, so that every path is relative.

export class Refused extends Error {}

async function checked(response) {
  const answer = await response.json().catch(() => ({ error: `the server answered ${response.status}` }));
  if (answer.error) throw new Refused(answer.error);
  return answer;
}

export const told = async (name) => checked(await fetch(`api/${name}`));

const post = (name, body, signal) =>
  fetch(`api/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  });

export const ask = async (name, body, signal) => checked(await post(name, body, signal));

/** Yield the lines of an answer as they arrive. */
export async function* stream(name, body, signal) {
  const response = await post(name, body, signal);
  if (response.headers.get('content-type') !== 'application/x-ndjson') yield await checked(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    const lines = (rest + (value ?? '')).split('\n');
    rest = lines.pop();
    for (const line of lines) if (line) yield JSON.parse(line);
    if (done) return;
  }
}

/**
 * Ask for the newest of many questions: an older one is aborted, and its answer is never shown. A question waits `delay`
 * milliseconds for a newer one only where another was on its way.
 */
export function latest(name, { delay, show, fail }) {
  let running = null;
  let timer = 0;
  const start = async (body) => {
    timer = 0;
    const own = (running = new AbortController());
    try {
      const answer = await ask(name, body, own.signal);
      if (own === running) show(answer);
    } catch (error) {
      if (own === running && error.name !== 'AbortError') fail(error);
    } finally {
      if (own === running) running = null;
    }
  };
  return (body) => {
    const busy = running || timer;
    running?.abort();
    running = null;
    clearTimeout(timer);
    if (busy) timer = setTimeout(start, delay, body);
    else start(body);
  };
}
