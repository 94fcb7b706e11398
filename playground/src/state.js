// What the page is about: the payload, its frame and the policy. A link holds it in its fragment, which no browser sends.

export const EMPTY = { code: '', sink: '', target: 'main', shape: '', profile: 'balanced', bindings: '', policy: '' };
const MAX_LINK = 32_000;

export const state = { ...EMPTY };
const listeners = [];

/** Call `listener` with the names of what has changed. */
export const changed = (listener) => listeners.push(listener);

/** Change the state, and tell everyone whom it concerns. */
export function set(changes) {
  const names = Object.keys(changes).filter((name) => state[name] !== changes[name]);
  Object.assign(state, changes);
  if (names.length) for (const listener of listeners) listener(new Set(names));
}

/** Return the question for the server. */
export function question() {
  const bindings = Object.fromEntries(
    state.bindings.split(/[\s,]+/).flatMap((pair) => {
      const [name, kind] = pair.split('=');
      return name && kind ? [[name, kind]] : [];
    }),
  );
  return {
    code: state.code,
    sink: state.sink || null,
    target: state.sink ? null : state.target,
    shape: state.sink ? null : state.shape || null,
    profile: state.profile,
    bindings,
    policy: state.policy,
  };
}

/** Return the fragment for a link, empty if the state is too long for one. */
export function fragment() {
  const own = Object.fromEntries(Object.entries(state).filter(([name, value]) => value !== EMPTY[name]));
  const bytes = new TextEncoder().encode(JSON.stringify(own));
  if (bytes.length > MAX_LINK) return '';
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Return the state of a fragment; anything that is none changes nothing. */
export function fromFragment(text) {
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0));
    const found = JSON.parse(new TextDecoder().decode(bytes));
    return Object.fromEntries(Object.keys(EMPTY).flatMap((name) => (typeof found[name] === 'string' ? [[name, found[name]]] : [])));
  } catch {
    return {};
  }
}

/** What decides, by the names of the state. */
export const FRAME = ['code', 'sink', 'target', 'shape', 'bindings', 'policy', 'profile'];

/** Ask when the panel is open and the question has changed; `work` gets a function that says whether its answer is still the newest. */
export function whenShown(panel, work) {
  let stale = true;
  let round = 0;
  const refresh = () => {
    if (panel.hidden || !stale) return;
    stale = false;
    const own = ++round;
    work(() => own === round && !stale);
  };
  let timer = 0;
  changed((changes) => {
    if (!FRAME.some((name) => changes.has(name))) return;
    stale = true;
    clearTimeout(timer);
    timer = setTimeout(refresh, 250);
  });
  return refresh;
}
