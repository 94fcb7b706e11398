(() => {
  const form = document.querySelector('form#checkout');
  const fields = [...form.querySelectorAll('input, select, textarea')];
  return fields.map((field) => ({
    name: field.name,
    type: field.type || field.tagName.toLowerCase(),
    required: field.required,
    value: field.type === 'password' ? null : field.value,
  }));
})();
