// What stands in for two of the suite's own helpers, for a program and for its hardened form alike. The suite's
// propertyHelper.js writes to and deletes what it checks, which is denied for built-ins: these only read descriptors.
var $DONE_RESULT;
function $DONE(error) {
  $DONE_RESULT = error ? 'fail ' + (error.name || error.constructor.name) + ': ' + (error.message || String(error)) : 'pass';
}
var __descriptorOf = Object.getOwnPropertyDescriptor;
function verifyProperty(object, name, expected) {
  var actual = __descriptorOf(object, name);
  if (expected === undefined) {
    assert.sameValue(actual, undefined, 'no own property ' + String(name));
    return true;
  }
  assert.notSameValue(actual, undefined, 'own property ' + String(name));
  for (var key of ['value', 'get', 'set', 'writable', 'enumerable', 'configurable']) {
    if (Object.prototype.hasOwnProperty.call(expected, key)) assert.sameValue(actual[key], expected[key], String(name) + ' ' + key);
  }
  return true;
}
function verifyCallableProperty(object, name, functionName, functionLength, expected) {
  assert.sameValue(typeof object[name], 'function');
  verifyProperty(object[name], 'name', { value: functionName === undefined ? name : functionName });
  verifyProperty(object[name], 'length', { value: functionLength });
  return verifyProperty(object, name, expected);
}
function __has(object, name, key, wanted) { assert.sameValue(__descriptorOf(object, name)[key], wanted, String(name) + ' ' + key); }
function verifyEqualTo(object, name, value) { assert.sameValue(object[name], value); }
function verifyWritable(object, name) { __has(object, name, 'writable', true); }
function verifyNotWritable(object, name) { __has(object, name, 'writable', false); }
function verifyEnumerable(object, name) { __has(object, name, 'enumerable', true); }
function verifyNotEnumerable(object, name) { __has(object, name, 'enumerable', false); }
function verifyConfigurable(object, name) { __has(object, name, 'configurable', true); }
function verifyNotConfigurable(object, name) { __has(object, name, 'configurable', false); }
function verifyPrimordialProperty(object, name, expected) { return verifyProperty(object, name, expected); }
function verifyPrimordialCallableProperty(object, name, functionName, functionLength, expected) {
  return verifyCallableProperty(object, name, functionName, functionLength, expected);
}
