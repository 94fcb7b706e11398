(() => {
  const orders = [
    { customer: 'ana', status: 'open', total: 12.5 },
    { customer: 'bo', status: 'paid', total: 40 },
    { customer: 'ana', status: 'paid', total: 7.25 },
  ];
  const groupBy = (list, key) =>
    list.reduce((groups, item) => {
      (groups[item[key]] ||= []).push(item);
      return groups;
    }, {});
  const sum = (list, key) => list.reduce((total, item) => total + item[key], 0);
  const byCustomer = groupBy(orders, 'customer');
  const report = {};
  for (const name of Object.keys(byCustomer)) {
    report[name] = { count: byCustomer[name].length, total: sum(byCustomer[name], 'total') };
  }
  return report;
})();
