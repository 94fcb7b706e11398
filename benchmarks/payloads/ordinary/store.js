(() => {
  const initial = { items: [], filter: 'all', busy: false, error: null };

  function reduce(state, action) {
    switch (action.type) {
      case 'added':
        return { ...state, items: [...state.items, { id: action.id, text: action.text, done: false }] };
      case 'toggled':
        return {
          ...state,
          items: state.items.map((item) => (item.id === action.id ? { ...item, done: !item.done } : item)),
        };
      case 'removed':
        return { ...state, items: state.items.filter(({ id }) => id !== action.id) };
      case 'filtered':
        return { ...state, filter: action.filter };
      case 'failed':
        return { ...state, busy: false, error: action.message };
      default:
        return state;
    }
  }

  function select(state) {
    const { items, filter } = state;
    if (filter === 'open') return items.filter((item) => !item.done);
    if (filter === 'done') return items.filter((item) => item.done);
    return items;
  }

  const actions = [
    { type: 'added', id: 1, text: 'write the report' },
    { type: 'added', id: 2, text: 'send the invoice' },
    { type: 'toggled', id: 1 },
    { type: 'filtered', filter: 'open' },
  ];
  const state = actions.reduce(reduce, initial);
  return select(state).map((item) => item.text);
})();
