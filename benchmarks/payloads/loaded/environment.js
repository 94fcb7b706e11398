(() => {
  const runtime = typeof process === 'undefined' ? 'page' : process.versions.electron ? 'electron' : 'node';
  const mode = runtime === 'page' ? 'production' : process.env.NODE_ENV || 'development';
  return { runtime, mode, platform: runtime === 'page' ? 'web' : process.platform };
})();
