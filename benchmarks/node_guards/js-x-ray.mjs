// @nodesecure/js-x-ray as its README has it used, with its default probes: any warning is a denial.
import { AstAnalyser } from '@nodesecure/js-x-ray';

const analyser = new AstAnalyser();

export function judge(code) {
  try {
    const { warnings } = analyser.analyse(code);
    return warnings.length ? { allowed: false, code: warnings[0].kind } : { allowed: true };
  } catch {
    return { allowed: false, code: 'parsing-error' };
  }
}
