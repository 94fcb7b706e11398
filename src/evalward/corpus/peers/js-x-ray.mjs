// @nodesecure/js-x-ray with its default probes: any warning is a denial.
const { AstAnalyser } = await import(process.argv[1]);
const analyser = new AstAnalyser();

export const judge = (code) => {
  const [warning] = analyser.analyse(code).warnings;
  return warning ? { allowed: false, why: warning.kind } : { allowed: true };
};
