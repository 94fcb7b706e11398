// ast-guard (@enclave-vm/ast) with its preset `secure`: an issue that makes the code invalid is a denial.
const { JSAstValidator, Presets } = await import(process.argv[1]);
const validator = new JSAstValidator(Presets.secure());

export const judge = async (code) => {
  const { valid, issues } = await validator.validate(code);
  return valid ? { allowed: true } : { allowed: false, why: issues[0]?.code };
};
