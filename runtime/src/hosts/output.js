// A sandbox has no host objects but its console, whose functions are listed, and names that are denied.
import { G, get, has, isObject, ownDescriptor, ownKeys, hasOwn } from '../natives.js';
import { isForged } from '../shared.js';
import { onName } from '../forging.js';
import { denied, listed } from '../membrane.js';
import { protect } from '../protection.js';
import { deniedNames, tableOf } from './tables.js';

/** Registers the console's functions, and what the realm holds under denied names. */
export function installOutput() {
  onName((name) => name === 'console');
  const names = ownKeys(deniedNames);
  for (let i = 0; i < names.length; i++) {
    const real = has(G, names[i]) ? get(G, names[i]) : undefined;
    if (isObject(real)) denied(real, deniedNames[names[i]]);
  }
  const output = has(G, 'console') && !isForged('console') ? get(G, 'console') : undefined;
  if (!isObject(output)) return;
  protect(output);
  const { methods } = tableOf('console');
  const members = ownKeys(output);
  for (let i = 0; i < members.length; i++) {
    const property = ownDescriptor(output, members[i]);
    const method = property !== undefined && hasOwn(property, 'value') ? property.value : undefined;
    if (methods[members[i]] !== undefined && typeof method === 'function') listed(method);
  }
}
