// Traps for a real page. Trusted Types names every sink at the place where the browser itself compiles text, so the
// default policy of a page that requires them is the trap; what they leave out is wrapped here.

const MARKUP_THAT_RUNS = ['document write', 'document writeln', 'createcontextualfragment', 'sethtmlunsafe', 'parsehtmlunsafe', 'srcdoc'];
const URL_ATTRIBUTES = ['href', 'src', 'action', 'formaction', 'xlink:href', 'data'];

/** The browser drops control characters and blanks before it looks for the scheme. */
const isScriptUrl = (value) => /^javascript:/i.test(String(value).replace(/[\u0000-\u0020]/g, ''));

const MAX_TICKS = 6;
let inspecting = false;

/** Hit when `markup` would run code: handlers, javascript: URLs, srcdoc, and scripts where the sink runs them. */
function inspectMarkup(markup, sink) {
  const name = String(sink).toLowerCase();
  // As a whole document for <body onload>, as a template's content for rows and cells, which only a table may hold.
  const template = document.createElement('template');
  template.innerHTML = markup;
  for (const tree of [new DOMParser().parseFromString(markup, 'text/html'), template.content]) {
    for (const element of tree.querySelectorAll('*')) {
      if (element.localName === 'script' && MARKUP_THAT_RUNS.some((one) => name.includes(one))) hit('dom-script', 'call', sink);
      inspectElement(element, sink);
    }
  }
}

function inspectElement(element, where) {
  for (const { name, value } of element.attributes) {
    if (/^on/.test(name)) hit('dom-script', 'set', where + ' ' + name);
    else if (name === 'srcdoc') inspectMarkup(value, where + ' srcdoc');
    else if (URL_ATTRIBUTES.includes(name) && isScriptUrl(value)) hit('dom-script', 'set', where + ' javascript:');
  }
}

/** Inspect elements that enter the document without a sink, such as by importNode from a parsed document. */
function watchDocument() {
  const inspect = (records) => {
    for (const { target, addedNodes } of records) {
      inspectElement(target.attributes ? target : document.body, 'attribute');
      for (const node of addedNodes) {
        if (!node.querySelectorAll) continue;
        for (const element of [node, ...node.querySelectorAll('*')]) if (element.attributes) inspectElement(element, 'inserted');
      }
    }
  };
  new MutationObserver(inspect).observe(document, { subtree: true, childList: true, attributes: true });
}

function trapSinks() {
  trustedTypes.createPolicy('default', {
    createHTML(markup, _type, sink) {
      if (inspecting || /DOMParser/.test(sink)) return markup;
      inspecting = true;
      try { inspectMarkup(markup, sink); } finally { inspecting = false; }
      return markup;
    },
    createScript(source, _type, sink) {
      if (/settimeout|setinterval/i.test(sink)) hit('timer-string', 'call', sink);
      else if (!/^(eval|function)/i.test(sink)) hit('dom-script', 'call', sink);
      return source;
    },
    createScriptURL(url, _type, sink) {
      hit(/worker/i.test(sink) ? 'worker' : 'dom-script', 'call', sink);
      return url;
    },
  });
}

/** Wrap an accessor so that `seen` is called before each read or write. */
function watch(holder, name, part, seen) {
  const property = holder && describe(holder, name);
  if (!property || !property[part]) return;
  const real = property[part];
  property[part] = new RealProxy(real, { __proto__: null, apply(_, self, args) {
    seen(args[0]);
    return apply(real, self, args);
  } });
  define(holder, name, property);
}

function watchMethod(holder, name, seen) {
  const property = holder && describe(holder, name);
  if (!property || !isFunction(property.value)) return;
  const real = property.value;
  property.value = new RealProxy(real, { __proto__: null, apply(_, self, args) {
    seen(...args);
    return apply(real, self, args);
  } });
  define(holder, name, property);
}

function trapUrls() {
  const places = [['HTMLAnchorElement', 'href'], ['HTMLAreaElement', 'href'], ['HTMLFormElement', 'action'],
    ['HTMLInputElement', 'formAction'], ['HTMLButtonElement', 'formAction'], ['HTMLIFrameElement', 'src'], ['HTMLFrameElement', 'src'],
    ['HTMLEmbedElement', 'src'], ['HTMLObjectElement', 'data'], ['HTMLBaseElement', 'href'], ['Attr', 'value']];
  for (const [type, name] of places) {
    watch(G[type] && G[type].prototype, name, 'set', (value) => {
      if (isScriptUrl(value)) hit('dom-script', 'set', type + '.' + name + ' = javascript:');
    });
  }
  for (const name of ['setAttribute', 'setAttributeNS']) {
    watchMethod(Element.prototype, name, (...args) => {
      const [attribute, value] = name === 'setAttribute' ? args : [args[1], args[2]];
      if (/^on/i.test(attribute)) hit('dom-script', 'call', name + ' ' + attribute);
      else if (isScriptUrl(value)) hit('dom-script', 'call', name + ' javascript:');
    });
  }
  watchMethod(G, 'open', (url) => { if (isScriptUrl(url)) hit('dom-script', 'call', 'open javascript:'); });
}

function trapFrames() {
  for (const type of ['HTMLIFrameElement', 'HTMLFrameElement', 'HTMLObjectElement', 'HTMLEmbedElement']) {
    const prototype = G[type] && G[type].prototype;
    watch(prototype, 'contentWindow', 'get', () => {
      hit('dom-script', 'read', type + '.contentWindow');
      hit('global', 'read', type + '.contentWindow');
    });
    // A frame's document may be read: what is done with it counts.
    watch(prototype, 'contentDocument', 'get', () => hit('dom-script', 'get', type + '.contentDocument'));
  }
  watch(Document.prototype, 'defaultView', 'get', () => hit('global', 'get', 'document.defaultView'));
}

function trapWorkers() {
  for (const name of ['Worker', 'SharedWorker']) if (G[name]) expose(name, trapCalls(G[name], 'worker', name));
  if (G.ServiceWorkerContainer) {
    watchMethod(ServiceWorkerContainer.prototype, 'register', () => hit('worker', 'call', 'serviceWorker.register'));
  }
}

/** Timers with text are hits; the others fire at once, since delays do not matter to what is reached. */
function trapTimers() {
  for (const [name, delay] of [['setTimeout', 0], ['setInterval', 10]]) {
    const real = G[name];
    expose(name, function (given, _delay, ...args) {
      if (!isFunction(given) && given !== undefined && given !== null) hit('timer-string', 'call', name);
      else if (capabilityOf(given)) hit(capabilityOf(given), 'call', name);
      const callback = config.driving && typeof given === 'string' ? () => globalEval(given) : given;
      if (!config.observe || !isFunction(callback) || delay === 0) return apply(real, G, [callback, delay, ...args]);
      // The same number of times in each run, and all before the run is over.
      let left = MAX_TICKS;
      return apply(real, G, [() => { if (left-- > 0) apply(callback, G, args); }, 0]);
    });
  }
}

/** Replace what a function of `holder` gives by what `change` makes of it. */
function changeResult(holder, name, part, change) {
  const property = holder && describe(holder, name);
  if (!property || !property[part]) return;
  property[part] = new RealProxy(property[part], { __proto__: null, apply: (target, self, args) => change(apply(target, self, args)) });
  define(holder, name, property);
}

const still = (value) => (typeof value === 'number' ? 1 : value);
const stillObject = (value) => { for (const key of ownKeys(value)) value[key] = still(value[key]); return value; };

/** Nothing that the clock, the network, the screen or chance decides: two runs have the same. */
function holdStill() {
  const holders = [PerformanceEntry, PerformanceResourceTiming, PerformanceNavigationTiming, PerformanceTiming].map((type) => type.prototype);
  if (performance.memory) holders.push(getPrototypeOf(performance.memory));
  for (const holder of holders) {
    for (const name of ownKeys(holder)) {
      if (name === 'toJSON') changeResult(holder, name, 'value', stillObject);
      else changeResult(holder, name, 'get', still);
    }
  }
  const lasting = (entries) => entries.filter((entry) => /^(navigation|mark|measure)$/.test(entry.entryType));
  for (const name of ['getEntries', 'getEntriesByType', 'getEntriesByName']) changeResult(Performance.prototype, name, 'value', lasting);
  changeResult(Crypto.prototype, 'randomUUID', 'value', () => '00000000-0000-4000-8000-000000000000');
}

function trapDocument() {
  if (config.observe) holdStill();
  watchDocument();
  trapSinks();
  trapUrls();
  trapFrames();
  trapWorkers();
  trapTimers();
}
