(() => {
  function parse(text, separator = ',') {
    const records = [];
    let record = [];
    let field = '';
    let quoted = false;
    let previous = '';
    for (const char of text) {
      if (quoted) {
        if (char === '"') {
          quoted = false;
        } else {
          field += char;
        }
      } else if (char === '"') {
        if (previous === '"') field += char;
        quoted = true;
      } else if (char === separator) {
        record.push(field);
        field = '';
      } else if (char === '\n') {
        record.push(field);
        records.push(record);
        record = [];
        field = '';
      } else if (char !== '\r') {
        field += char;
      }
      previous = char;
    }
    if (field !== '' || record.length > 0) {
      record.push(field);
      records.push(record);
    }
    return records;
  }

  const quote = (value) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const write = (records) => records.map((record) => record.map(quote).join(',')).join('\n');
  const source = 'id,name,city\n1,"Doe, Jane",Bern\n2,Kim,"New ""York"""\n';
  return { same: write(parse(source)) === source.trim(), records: parse(source).length };
})();
