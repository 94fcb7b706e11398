const orders = [];
for (let i = 0; i < 40; i++) {
  orders.push({ id: i, item: 'item-' + (i % 7), price: (i * 37) % 101, tags: ['t' + (i % 3), 'u' + (i % 5)] });
}
const totals = new Map();
for (const { price, tags } of orders) {
  for (const tag of tags) {
    const entry = totals.get(tag) ?? { count: 0, sum: 0 };
    entry.count += 1;
    entry.sum += price;
    totals.set(tag, entry);
  }
}
const slug = (text) => text.toLowerCase().trim().replace(/[^a-z0-9]+/g, '-').replace(/(^-|-$)/g, '');
const ranking = [...totals.entries()]
  .map(([tag, { sum, count }]) => ({ tag: slug(tag + ' !'), mean: +(sum / count).toFixed(2), count }))
  .sort((a, b) => b.mean - a.mean || a.tag.localeCompare(b.tag));
class Counter {
  #seen = 0;
  add() { this.#seen += 1; return this; }
  get value() { return this.#seen; }
}
const sum = orders.reduce((total, { price }) => total + price, 0);
({ sum, ranking, best: `${ranking[0]?.tag} of ${ranking.length}`, seen: new Counter().add().add().value });
