(() => {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  const size = (bytes) => {
    let value = bytes;
    let unit = 0;
    while (value >= 1024 && unit < units.length - 1) {
      value /= 1024;
      unit += 1;
    }
    return `${value.toFixed(unit === 0 ? 0 : 1)} ${units[unit]}`;
  };
  const messages = {
    en: { saved: 'Saved {name}', failed: 'Could not save {name} ({size})' },
    de: { saved: '{name} gespeichert', failed: '{name} nicht gespeichert ({size})' },
  };
  const translate = (language, id, values) =>
    messages[language][id].replace(/\{(\w+)\}/g, (match, key) => String(values[key] ?? match));
  return ['en', 'de'].map((language) => translate(language, 'failed', { name: 'a.csv', size: size(3 << 20) }));
})();
