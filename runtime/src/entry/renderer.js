// The run-time for pages: the DOM is mediated, and functions of the page may be called.
import { ErrorCtor, hasOwn } from '../natives.js';
import '../intrinsics/captured.js';
import { holderAt } from '../intrinsics/roots.js';
import '../page/captured.js';
import '../prepared.js';
import { onOrigin } from '../denial.js';
import * as api from '../api.js';
import '../page/realm.js';
import { bound as b, setUnlisted } from '../membrane.js';
import { installIntrinsics } from '../intrinsics/install.js';
import { installPage } from '../page/install.js';

setUnlisted('call');
installIntrinsics();
installPage();

if (hasOwn(CONFIG, 'early')) holderAt(1);

// Last in the text: the frames of P′ lie after it. A head without the run-time says itself where it is.
const functions = { ...api, b, origin: () => (PLACE === undefined ? new ErrorCtor() : PLACE(ErrorCtor)) };
onOrigin(functions.origin);

export default functions;
