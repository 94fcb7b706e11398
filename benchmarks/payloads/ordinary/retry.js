(async () => {
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

  async function attempt(task, { tries = 3, delay = 200, signal } = {}) {
    let last;
    for (let count = 1; count <= tries; count += 1) {
      if (signal?.aborted) throw signal.reason;
      try {
        return await task(count);
      } catch (error) {
        last = error;
        if (count < tries) await pause(delay * 2 ** (count - 1));
      }
    }
    throw new Error(`gave up after ${tries} tries: ${last.message}`, { cause: last });
  }

  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), 5000);
  try {
    const user = await attempt(async () => {
      const response = await fetch('/api/me', { signal: controller.signal, credentials: 'same-origin' });
      if (response.status === 503) throw new Error('busy');
      return response.json();
    });
    return { name: user.name, roles: user.roles?.length ?? 0 };
  } finally {
    clearTimeout(timer);
  }
})();
