(() => {
  class TaskQueue {
    #waiting = [];
    #running = 0;
    limit = 2;
    failed = new Map();

    add(name, task) {
      return new Promise((resolve, reject) => {
        this.#waiting.push({ name, task, resolve, reject });
        this.#next();
      });
    }

    get idle() {
      return this.#running === 0 && this.#waiting.length === 0;
    }

    #next() {
      while (this.#running < this.limit && this.#waiting.length > 0) {
        const { name, task, resolve, reject } = this.#waiting.shift();
        this.#running += 1;
        task()
          .then(resolve, (error) => {
            this.failed.set(name, error.message);
            reject(error);
          })
          .finally(() => {
            this.#running -= 1;
            this.#next();
          });
      }
    }
  }

  const queue = new TaskQueue();
  for (const page of ['/orders', '/invoices', '/returns']) {
    queue.add(page, async () => {
      const response = await fetch(`${page}?format=json`, { headers: { accept: 'application/json' } });
      if (!response.ok) throw new Error(`${page} answered ${response.status}`);
      return response.json();
    });
  }
  return queue.idle;
})();
