(() => {
  const people = [
    { name: 'Ana', age: 41, team: 'web' },
    { name: 'Bo', age: 29, team: 'data' },
    { name: 'Cy', age: 35, team: 'web' },
  ];
  const by = (...keys) => (a, b) => {
    for (const key of keys) {
      if (a[key] < b[key]) return -1;
      if (a[key] > b[key]) return 1;
    }
    return 0;
  };
  const index = new Map(people.map((person) => [person.name, person]));
  const columns = ['team', 'age'];
  const rows = [...people].sort(by(...columns)).map((person) => columns.map((column) => person[column]));
  const counts = {};
  for (const { team } of people) counts[team] = (counts[team] ?? 0) + 1;
  return { rows, counts, first: index.get('Ana')[columns[1]] };
})();
