(() => {
  // Read an HTML table into records, in the order in which the page shows them.
  const table = document.querySelector('table.results');
  if (!table) return { rows: [], total: 0 };
  const head = Array.from(table.tHead.rows.item(0).cells, (cell) => cell.textContent.trim());
  const rows = [];
  for (const row of table.tBodies.item(0).rows) {
    if (row.hidden || row.classList.contains('placeholder')) continue;
    const cells = Array.from(row.cells, (cell) => cell.textContent.trim());
    rows.push(head.map((name, index) => ({ name, text: cells.at(index) ?? '' })));
  }
  const total = rows.reduce((sum, row) => {
    const price = row.find((cell) => cell.name === 'Price');
    return price ? sum + Number.parseFloat(price.text.replace(/[^0-9.]/g, '')) : sum;
  }, 0);
  return { rows, total: Math.round(total * 100) / 100 };
})();
