/**
 * Checks the owner of a Unix socket before each call, if `peerUid` is set.
 *
 * gRPC connects by path, and Node does not expose the peer. So the check is on the socket file: it belongs to `peerUid`,
 * and only root, that user and the present one can replace it.
 */

import { lstat, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

const OTHERS_WRITE = 0o022;
const STICKY = 0o1000;

/** The socket does not belong to the expected user; the message says why. */
export class WrongPeer extends Error {}

/** Throw WrongPeer unless the socket at `path` belongs to the user `uid`, and the system's error when there is none. */
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
