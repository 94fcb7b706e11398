// Print every member of Web IDL as `Interface.member`, mixins expanded: what a walk of a live page is compared with.
import idl from '@webref/idl';

const definitions = Object.values(await idl.parseAll()).flat();
const targets = new Map();
for (const one of definitions) {
  if (one.type === 'includes') targets.set(one.includes, [...(targets.get(one.includes) ?? []), one.target]);
}
const lines = new Set();
for (const one of definitions) {
  if (!['interface', 'interface mixin', 'namespace', 'callback interface'].includes(one.type)) continue;
  for (const holder of one.type === 'interface mixin' ? (targets.get(one.name) ?? []) : [one.name]) {
    lines.add(holder);
    for (const member of one.members) if (member.name) lines.add(`${holder}.${member.name}`);
    for (const member of one.members) {
      if (['iterable', 'maplike', 'setlike', 'async_iterable'].includes(member.type)) {
        for (const name of ['entries', 'keys', 'values', 'forEach', 'has', 'get', 'size', 'add', 'set', 'delete', 'clear']) {
          lines.add(`${holder}.${name}`);
        }
      }
      if (member.special === 'stringifier') lines.add(`${holder}.toString`);
    }
  }
}
console.log([...lines].sort().join('\n'));
