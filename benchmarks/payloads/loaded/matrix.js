(() => {
  const zeros = (rows, columns) => Array.from({ length: rows }, () => new Array(columns).fill(0));

  function multiply(a, b) {
    const out = zeros(a.length, b[0].length);
    for (let i = 0; i < a.length; i++) {
      for (let j = 0; j < b[0].length; j++) {
        for (let k = 0; k < b.length; k++) {
          out[i][j] += a[i][k] * b[k][j];
        }
      }
    }
    return out;
  }

  function distance(from, to) {
    const grid = zeros(from.length + 1, to.length + 1);
    for (let i = 0; i <= from.length; i++) grid[i][0] = i;
    for (let j = 0; j <= to.length; j++) grid[0][j] = j;
    for (let i = 1; i <= from.length; i++) {
      for (let j = 1; j <= to.length; j++) {
        const cost = from[i - 1] === to[j - 1] ? 0 : 1;
        grid[i][j] = Math.min(grid[i - 1][j] + 1, grid[i][j - 1] + 1, grid[i - 1][j - 1] + cost);
      }
    }
    return grid[from.length][to.length];
  }

  const turn = [
    [0, -1],
    [1, 0],
  ];
  return { turned: multiply(turn, [[1, 2], [3, 4]]), edits: distance('kitten', 'sitting') };
})();
