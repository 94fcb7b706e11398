// For the runs of a payload and of its rewrite, which are compared: what both hand to a driver as a program, in text or as
// a function, runs here, and the driver answers its value. Handlers in text and listeners differ by what they do only.

/** Stand-ins for the names that the realm lacks: what a program does with them can be compared. */
function nameStandIns() {
  const { names, called, elements } = config.driving;
  // A page has its elements as globals, by their ids. A program calls no element.
  const isElement = (name) => config.page && !hasOwn(G, name) && !isFunction(G[name]);
  for (const name of names) {
    if (!(name in G) || (called.includes(name) && isElement(name))) expose(name, elements.includes(name) ? foundElement() : stub(name));
  }
}

const isDriven = (name) => Boolean(config.driving) && (config.scriptCalls.includes(name) || config.textCalls.includes(name));

/** What arrives in the page: a driver sends JSON. */
const sent = (value) => (stringify(value) === undefined ? undefined : JSON.parse(stringify(value)));

/** Run what the stub at `path` is given, as the page would; return a promise of its value. */
function driven(path, name, args) {
  const at = config.textSecond.includes(name) ? 1 : 0;
  const given = hasOwn(Object(args[at]), 'content') ? args[at].content : args[at];
  // What another call has found, such as a locator, is handed to the program first.
  const found = at > 0 || name === 'evaluateAll' || path.endsWith('().' + name);
  const passed = found ? [stub(path + ' element')] : [];
  for (let i = at + 1; i < args.length; i++) passed[passed.length] = sent(args[i]);
  notice(path, at ? [args[0]] : []);
  const answer = (async () => {
    const made = isFunction(given) ? given : globalEval(text(given));
    return isFunction(made) && !apply(weakGet, stubs, [made]) ? apply(made, undefined, passed) : made;
  })();
  apply(then, answer, [(value) => notice(path + ' answers', [value]), (error) => notice(path + ' throws', [describeError(error)])]);
  return answer;
}

/** An element of the page, as a driver hands over the one that it has found; it is also a list of one. */
function foundElement() {
  if (!config.page) return stub('element');
  const element = document.createElement('div');
  document.body.append(element);
  define(element, Symbol.iterator, { value: function* () { yield element; } });
  return element;
}

/** Take the handlers in text out of a node and what is in it; return the node. */
function withoutHandlers(node) {
  for (const element of [node, ...(node.querySelectorAll?.('*') ?? [])]) {
    for (const { name } of [...(element.attributes ?? [])]) if (/^on/i.test(name)) element.removeAttribute(name);
  }
  return node;
}

/** Let every element meet the events that a handler waits for, and show the page without its handlers in text. */
function fireEvents() {
  if (!config.page) return;
  for (const element of [...document.querySelectorAll('*')]) {
    for (const type of config.driving.events) element.dispatchEvent(new Event(type));
  }
  withoutHandlers(document);
  // A document that a program writes has a new root element; one that is filled keeps it.
  const root = document.documentElement;
  for (const { name } of root ? [...root.attributes] : []) root.removeAttribute(name);
}
