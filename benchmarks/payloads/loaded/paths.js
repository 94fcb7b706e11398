(() => {
  const config = { server: { port: 8080, hosts: ['a.test', 'b.test'] }, log: { level: 'info' } };
  const get = (object, path, fallback) => {
    let value = object;
    for (const key of path.split('.')) {
      if (value === null || typeof value !== 'object' || !Object.hasOwn(value, key)) return fallback;
      value = value[key];
    }
    return value;
  };
  const flatten = (object, prefix = '', out = Object.create(null)) => {
    for (const [key, value] of Object.entries(object)) {
      const path = prefix ? `${prefix}.${key}` : key;
      if (value !== null && typeof value === 'object') flatten(value, path, out);
      else out[path] = value;
    }
    return out;
  };
  const flat = flatten(config);
  return { port: get(config, 'server.port', 80), level: get(config, 'log.level'), keys: Object.keys(flat) };
})();
