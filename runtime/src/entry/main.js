// The run-time for Electron main, Node and driver code: host objects are facades from the catalogue, and what no list names is not called.
import { ErrorCtor } from '../natives.js';
import { onOrigin } from '../denial.js';
import * as api from '../api.js';
import { setUnlisted } from '../membrane.js';
import { installIntrinsics } from '../intrinsics/install.js';
import { installTimers } from '../intrinsics/timers.js';
import { b, call } from '../hosts/bound.js';
import { installHosts } from '../hosts/install.js';

setUnlisted('deny');
installIntrinsics();
installTimers();
installHosts();

// Last in the text: the frames of P′ lie after it.
const functions = { ...api, b, apply: call, origin: () => new ErrorCtor() };
onOrigin(functions.origin);

export default functions;
