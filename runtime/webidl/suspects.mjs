// Which members of Web IDL a person must decide about: by what they take and give, not by what they are called.

const TRUSTED = /^Trusted(?:HTML|Script|ScriptURL)$/;
const WINDOWS = /^(?:WindowProxy|Window|MessageEventSource)$/;
const WORKERS = /(?:Worker|Worklet)$/;
const CODE_ARGUMENT = /^(?:url|urls|html|markup|script\w*|moduleURL|commandId|workletURL)$/i;
const FIELDS_OF_WINDOWS = /^(?:view|source|window)$/;

/** A map from `Interface.member` to the set of reasons. */
export function suspects(definitions) {
  const parents = new Map();
  const types = new Map();
  const fields = new Map();
  for (const one of definitions) {
    if (one.type === 'interface' && !one.partial) parents.set(one.name, one.inheritance);
    if (one.type === 'typedef') types.set(one.name, one.idlType);
    if (one.type === 'dictionary' && one.inheritance) parents.set(one.name, one.inheritance);
    if (one.type === 'dictionary') fields.set(one.name, [...(fields.get(one.name) ?? []), ...one.members]);
  }
  const inherits = (name, ancestor) => {
    for (let at = name; at; at = parents.get(at)) if (at === ancestor) return true;
    return false;
  };
  const names = (type, seen = new Set()) => {
    if (!type) return [];
    if (Array.isArray(type)) return type.flatMap((one) => names(one, seen));
    if (typeof type.idlType !== 'string') return names(type.idlType, seen);
    const name = type.idlType;
    if (!types.has(name) || seen.has(name)) return [name];
    seen.add(name);
    return [name, ...names(types.get(name), seen)];
  };

  const fieldsOf = (name) => {
    const all = [];
    for (let at = name; at; at = parents.get(at)) all.push(...(fields.get(at) ?? []));
    return all;
  };

  const ofType = (name) => {
    if (TRUSTED.test(name)) return 'trusted type';
    if (name === 'TimerHandler') return 'timer';
    if (WINDOWS.test(name)) return 'window';
    if (WORKERS.test(name)) return 'worker';
    return inherits(name, 'Node') ? 'node' : undefined;
  };

  function ofAttribute(member) {
    const why = new Set();
    const marks = (member.extAttrs ?? []).map(({ name }) => name);
    if (marks.includes('ReflectURL')) why.add('URL');
    for (const name of names(member.idlType)) {
      const kind = ofType(name);
      if (kind && (kind !== 'node' || !member.readonly)) why.add(kind);
      if (/EventHandler$/.test(name) && !/^on[a-z]+$/.test(member.name)) why.add('handler under another name');
      if (name === 'USVString' && !member.readonly) why.add('URL');
      if (name === 'SVGAnimatedString') why.add('animated string');
    }
    for (const { name } of member.extAttrs ?? []) if (name === 'PutForwards') why.add('forwards');
    return why;
  }

  function ofOperation(member) {
    const why = new Set();
    if (member.special === 'setter') why.add('setter');
    for (const name of names(member.idlType)) if (['window', 'worker'].includes(ofType(name))) why.add(`gives ${ofType(name)}`);
    for (const argument of member.arguments) {
      if (CODE_ARGUMENT.test(argument.name)) why.add(`argument ${argument.name}`);
      for (const name of names(argument.idlType)) {
        if (ofType(name)) why.add(ofType(name));
        for (const field of fieldsOf(name)) {
          if (FIELDS_OF_WINDOWS.test(field.name) && names(field.idlType).some((one) => ofType(one) === 'window')) {
            why.add(`option ${field.name}`);
          }
        }
      }
    }
    return why;
  }

  const found = new Map();
  for (const one of definitions) {
    if (!['interface', 'interface mixin', 'namespace'].includes(one.type)) continue;
    for (const member of one.members) {
      const why = member.type === 'attribute' ? ofAttribute(member)
        : member.type === 'operation' || member.type === 'constructor' ? ofOperation(member) : new Set();
      if (why.size === 0) continue;
      const key = `${one.name}.${member.type === 'constructor' ? 'constructor' : member.name || member.special}`;
      found.set(key, new Set([...(found.get(key) ?? []), ...why]));
    }
  }
  return found;
}
