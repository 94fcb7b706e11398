// The run-time for pages: the DOM is mediated, and functions of the page may be called.
import { ErrorCtor } from '../natives.js';
import { onOrigin } from '../denial.js';
import * as api from '../api.js';
import '../page/realm.js';
import { setUnlisted } from '../membrane.js';
import { installIntrinsics } from '../intrinsics/install.js';
import { installPage } from '../page/install.js';

setUnlisted('call');
installIntrinsics();
installPage();

/** A free name that a catalogue names: in a page its value is the page's, and passes the membrane like any other. */
const b = (value) => api.v(value);

// Last in the text: the frames of P′ lie after it.
const functions = { ...api, b, origin: () => new ErrorCtor() };
onOrigin(functions.origin);

export default functions;
