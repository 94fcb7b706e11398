(() => {
  const day = 24 * 60 * 60 * 1000;
  const pad = (number) => String(number).padStart(2, '0');
  const iso = (date) => `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  const startOfWeek = (date) => {
    const copy = new Date(date);
    const shift = (copy.getDay() + 6) % 7;
    copy.setDate(copy.getDate() - shift);
    copy.setHours(0, 0, 0, 0);
    return copy;
  };
  const weeks = new Map();
  for (const entry of document.querySelectorAll('time[datetime]')) {
    const when = new Date(entry.dateTime);
    if (Number.isNaN(when.getTime())) continue;
    const key = iso(startOfWeek(when));
    const week = weeks.get(key) ?? { from: key, events: 0, last: 0 };
    week.events += 1;
    week.last = Math.max(week.last, when.getTime());
    weeks.set(key, week);
  }
  const sorted = [...weeks.values()].sort((a, b) => a.from.localeCompare(b.from));
  return sorted.map((week) => ({ ...week, age: Math.floor((Date.now() - week.last) / day) }));
})();
