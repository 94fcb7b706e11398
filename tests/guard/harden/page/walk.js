// The writable and callable members of a page's interfaces, as `Interface.member`, and of its window.
(() => {
  const found = new Set();
  const add = (holder, object) => {
    for (const name of Object.getOwnPropertyNames(object)) {
      const property = Object.getOwnPropertyDescriptor(object, name);
      if (name !== 'constructor' && (property.set || typeof property.value === 'function')) found.add(`${holder}.${name}`);
    }
  };
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    const { value } = Object.getOwnPropertyDescriptor(globalThis, name);
    if (typeof value !== 'function' || !value.prototype || !String(value).includes('[native code]')) continue;
    add(value.prototype.constructor.name, value.prototype);
    add(value.prototype.constructor.name, value);
  }
  add('Window', globalThis);
  return [...found].sort();
})()
