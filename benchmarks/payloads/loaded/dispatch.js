(() => {
  const handlers = {
    add: (state, { by }) => ({ ...state, value: state.value + by }),
    scale: (state, { by }) => ({ ...state, value: state.value * by }),
    reset: (state) => ({ ...state, value: 0 }),
  };
  const steps = [
    { type: 'add', by: 2 },
    { type: 'scale', by: 10 },
    { type: 'unknown' },
    { type: 'add', by: 1 },
  ];
  let state = { value: 0, skipped: [] };
  for (let i = 0; i < steps.length; i++) {
    const step = steps[i];
    if (Object.hasOwn(handlers, step.type)) {
      state = handlers[step.type](state, step);
    } else {
      state = { ...state, skipped: [...state.skipped, step.type] };
    }
  }
  return state;
})();
