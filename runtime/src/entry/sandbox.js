// The run-time for a sandbox with nothing but the language and a console.
import { ErrorCtor } from '../natives.js';
import { onOrigin } from '../denial.js';
import * as api from '../api.js';
import { setUnlisted } from '../membrane.js';
import { installIntrinsics } from '../intrinsics/install.js';
import { installTimers } from '../intrinsics/timers.js';
import { installOutput } from '../hosts/output.js';

setUnlisted('deny');
installIntrinsics();
installTimers();
installOutput();

// Last in the text: the frames of P′ lie after it.
const functions = { ...api, origin: () => new ErrorCtor() };
onOrigin(functions.origin);

export default functions;
