(() => {
  const visible = (element) => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && getComputedStyle(element).visibility !== 'hidden';
  };
  const label = (element) => {
    const direct = element.getAttribute('aria-label');
    if (direct) return direct.trim();
    const by = element.getAttribute('aria-labelledby');
    if (by) {
      return by
        .split(/\s+/)
        .map((id) => document.getElementById(id)?.textContent ?? '')
        .join(' ')
        .trim();
    }
    return (element.alt || element.title || element.textContent || '').replace(/\s+/g, ' ').trim();
  };
  const problems = [];
  for (const element of document.querySelectorAll('a[href], button, input, select, textarea, img')) {
    if (!visible(element)) continue;
    const name = label(element);
    if (name === '') {
      problems.push({ tag: element.tagName, rule: 'name', id: element.id || null });
    } else if (element.tagName === 'A' && /^(click here|more|link)$/i.test(name)) {
      problems.push({ tag: 'A', rule: 'vague', id: element.id || null });
    }
  }
  let level = 0;
  document.querySelectorAll('h1, h2, h3, h4').forEach((heading) => {
    const current = Number(heading.tagName.slice(1));
    if (current > level + 1) problems.push({ tag: heading.tagName, rule: 'order', id: heading.id || null });
    level = current;
  });
  return problems;
})();
