/** Reads files that hold secrets. A file that others can read, or could have written, is refused. */
import { closeSync, constants, fstatSync, openSync, readFileSync, realpathSync } from 'node:fs';
import { messageOf } from '../domain/errors.js';

/** The message names the file and the cure, never what the file holds. */
class SecretFileError extends Error {
  override readonly name = 'SecretFileError';
}

/**
 * Where containers and systemd mount secrets. Their modes are the mount's choice (0444 of root, 0440 under an ACL), and
 * nobody else lives in the container, or systemd keeps the folder closed: there a file may be readable by others.
 */
const MOUNTS = ['/run/secrets/', '/var/run/secrets/', '/run/credentials/'];

/** Whether others than its owner may read the file, or write it. `realPath` has no links left. */
export function isOpenToOthers(realPath: string, mode: number): boolean {
  const isMounted = MOUNTS.some((mount) => realPath.startsWith(mount));
  return (mode & (isMounted ? 0o022 : 0o077)) !== 0;
}

/** The whole file, of at most `bytesMax`. Throws SecretFileError. */
export function readSecretFile(path: string, bytesMax: number): Buffer {
  let file: number | undefined;
  try {
    // A pipe that nobody writes to would be waited for.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    // Of what was opened: the path may name another file by now.
    const stats = fstatSync(file);
    if (!stats.isFile()) throw new SecretFileError(`${path} is no ordinary file`);
    if (isOpenToOthers(realpathSync(path), stats.mode)) {
      throw new SecretFileError(`${path} is open to others: chmod 600 ${path}`);
    }
    if (stats.size > bytesMax) throw new SecretFileError(`${path} is too large`);
    return readFileSync(file);
  } catch (error) {
    throw error instanceof SecretFileError ? error : new SecretFileError(messageOf(error));
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
