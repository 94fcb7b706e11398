// Members whose arguments are objects with functions that the engine reads and calls: callback interfaces, dictionaries
// with callbacks, and the sources, sinks and transformers of streams.

/** @returns {Map<string, number[]>} the places of such arguments by the path of a member */
export function callbacks(definitions) {
  const interfaces = new Set(definitions.filter((one) => one.type === 'callback interface').map((one) => one.name));
  const functions = new Set(definitions.filter((one) => one.type === 'callback').map((one) => one.name));
  const typedefs = new Map(definitions.filter((one) => one.type === 'typedef').map((one) => [one.name, one.idlType]));
  const dictionaries = new Map();
  for (const one of definitions) {
    if (one.type === 'dictionary') dictionaries.set(one.name, [...(dictionaries.get(one.name) ?? []), one]);
  }
  const known = new Map();

  /** Whether a value of the type is, or as a member of a dictionary holds, what the engine calls. */
  const holds = (type, inDictionary) => {
    if (Array.isArray(type)) return type.some((one) => holds(one, inDictionary));
    if (typeof type !== 'string') return type ? holds(type.idlType, inDictionary) : false;
    if (interfaces.has(type) || (inDictionary && functions.has(type))) return true;
    if (typedefs.has(type)) return holds(typedefs.get(type), inDictionary);
    if (!dictionaries.has(type)) return false;
    if (!known.has(type)) {
      known.set(type, false);
      known.set(type, dictionaries.get(type).some((one) =>
        holds(one.inheritance, true) || one.members.some((member) => holds(member.idlType, true))));
    }
    return known.get(type);
  };

  const found = new Map();
  for (const one of definitions) {
    for (const member of one.members ?? []) {
      if (member.type !== 'constructor' && member.type !== 'operation') continue;
      const isStream = member.type === 'constructor' && one.name.endsWith('Stream');
      member.arguments.forEach(({ idlType }, place) => {
        if (!holds(idlType, false) && !(isStream && idlType.idlType === 'object')) return;
        const path = `${one.name}.${member.name || 'constructor'}`;
        found.set(path, [...new Set([...(found.get(path) ?? []), place])].sort());
      });
    }
  }
  return found;
}
