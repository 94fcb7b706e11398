// Where capture ends. What the bundle has before this module runs once, when the run-time is put into a page; what it has after
// it runs for each program, so that two programs share nothing but captured natives. `build.mjs` divides the bundle here.
CAPTURED();
