// Precedes a guard's module, which imports the package that is named by the argument. Standard output is for answers only,
// so what the guard prints goes to standard error.
for (const name of ['log', 'info', 'debug']) console[name] = console.error;
