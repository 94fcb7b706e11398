/**
 * Whose Unix socket it is: asked for with `peerUid`, checked before a call is made over it.
 *
 * gRPC connects by path, and Node does not say who is at the other end. So the socket itself is looked at: it belongs to
 * `peerUid`, and nobody but root, that user and this one can put another in its place.
 */

import { lstat, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

const OTHERS_WRITE = 0o022;
const STICKY = 0o1000;

/** The socket is not the one that was asked for; the message says why. */
export class WrongPeer extends Error {}

/** Throw WrongPeer unless the socket at `path` is the user `uid`'s, and the system's error when there is none. */
export async function checkOwner(path: string, uid: number): Promise<void> {
  const socket = resolve(path);
  const entry = await lstat(socket);
  if (!entry.isSocket()) throw new WrongPeer(`${socket} is not a socket`);
  if (entry.uid !== uid) throw new WrongPeer(`${socket} belongs to the user ${entry.uid}, not to ${uid}`);
  const trusted = [0, uid, process.geteuid?.()];
  for (let folder = dirname(socket); ; folder = dirname(folder)) {
    const found = await stat(folder);
    const isOpen = (found.mode & OTHERS_WRITE) !== 0 && (found.mode & STICKY) === 0;
    if (isOpen || !trusted.includes(found.uid)) {
      throw new WrongPeer(`others can replace ${socket}, since they may write to ${folder}`);
    }
    if (folder === dirname(folder)) return;
  }
}
