(() => {
  const point = (x, y) => ({ x, y });
  const minus = (a, b) => point(a.x - b.x, a.y - b.y);
  const cross = (a, b) => a.x * b.y - a.y * b.x;
  const length = (v) => Math.hypot(v.x, v.y);

  function hull(points) {
    const sorted = [...points].sort((a, b) => a.x - b.x || a.y - b.y);
    const half = (list) => {
      const out = [];
      for (const p of list) {
        while (out.length >= 2 && cross(minus(out.at(-1), out.at(-2)), minus(p, out.at(-1))) <= 0) out.pop();
        out.push(p);
      }
      out.pop();
      return out;
    };
    return [...half(sorted), ...half(sorted.reverse())];
  }

  function measure(polygon) {
    let area = 0;
    let perimeter = 0;
    polygon.forEach((p, index) => {
      const q = polygon.at((index + 1) % polygon.length);
      area += cross(p, q);
      perimeter += length(minus(q, p));
    });
    return { area: Math.abs(area) / 2, perimeter };
  }

  const cloud = Array.from({ length: 40 }, (_, i) => point(Math.cos(i) * (i % 7), Math.sin(i * 1.3) * (i % 5)));
  return measure(hull(cloud));
})();
