/**
 * What makes code from text: `eval`, `Function`, WebAssembly, ShadowRealm (ECMA-262 §19.2.1, §20.2.1), and the construct with
 * which a use is denied. The membrane knows the other function constructors by their structure.
 */

export const CODEGEN = {
  __proto__: null, eval: 'eval()', Function: 'Function()', WebAssembly: 'WebAssembly', ShadowRealm: 'nested-evaluation',
};
