(() => {
  const stop = new Set(['the', 'a', 'an', 'and', 'or', 'of', 'to', 'in', 'is', 'it', 'for', 'on', 'with']);
  const words = document.body.innerText
    .toLowerCase()
    .normalize('NFKD')
    .split(/[^\p{L}\p{N}']+/u)
    .filter((word) => word.length > 1 && !stop.has(word));
  const counts = words.reduce((map, word) => map.set(word, (map.get(word) ?? 0) + 1), new Map());
  const top10 = [...counts].sort(([, a], [, b]) => b - a).slice(0, 10);
  const sentences = document.body.innerText.split(/(?<=[.!?])\s+/).filter(Boolean);
  const lengths = sentences.map((sentence) => sentence.split(/\s+/).length).sort((a, b) => a - b);
  const middle = lengths.at(Math.floor(lengths.length / 2)) ?? 0;
  return { words: words.length, distinct: counts.size, top10, sentences: sentences.length, middle };
})();
