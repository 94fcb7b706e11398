(() => {
  class Emitter {
    constructor() {
      this.listeners = Object.create(null);
    }

    on(name, listener) {
      (this.listeners[name] ||= []).push(listener);
      return () => {
        this.listeners[name] = this.listeners[name].filter((other) => other !== listener);
      };
    }

    emit(name, ...values) {
      for (const listener of this.listeners[name] ?? []) listener(...values);
      return this.constructor.name;
    }
  }

  const seen = [];
  const bus = new Emitter();
  const off = bus.on('order', (order) => seen.push(`${order.id}:${order.status}`));
  bus.emit('order', { id: 1, status: 'open' });
  bus.emit('order', { id: 2, status: 'paid' });
  off();
  const by = bus.emit('order', { id: 3, status: 'lost' });
  return { seen, by, known: Object.prototype.hasOwnProperty.call(bus, 'listeners') };
})();
