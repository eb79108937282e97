/** Reads files with secrets. Refuses a file that others can read, or could have written. */
import { closeSync, constants, fstatSync, openSync, readFileSync, realpathSync } from 'node:fs';
import { messageOf } from '../../domain/errors.js';

/** The message names the file and the remedy, never the content. */
class SecretFileError extends Error {
  override readonly name = 'SecretFileError';
}

/**
 * Folders into which containers and systemd mount secrets. The mount chooses their modes (0444 of root, 0440 under an
 * ACL). The container has no other users, and systemd keeps the folder closed, so these files may be readable by
 * others.
 */
const MOUNTS = ['/run/secrets/', '/var/run/secrets/', '/run/credentials/'];

/** Returns true if users other than the owner may read or write the file. `realPath` must have no links left. */
export function isOpenToOthers(realPath: string, mode: number): boolean {
  const isMounted = MOUNTS.some((mount) => realPath.startsWith(mount));
  return (mode & (isMounted ? 0o022 : 0o077)) !== 0;
}

/** Returns the whole file, of at most `bytesMax`. Throws SecretFileError. */
export function readSecretFile(path: string, bytesMax: number): Buffer {
  let file: number | undefined;
  try {
    // Opening a pipe without a writer would block otherwise.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    // Checks the opened file: the path may refer to another file by now.
    const stats = fstatSync(file);
    if (!stats.isFile()) throw new SecretFileError(`${path} is not a regular file`);
    if (isOpenToOthers(realpathSync(path), stats.mode)) {
      throw new SecretFileError(`${path} is readable by others. Run chmod 600 ${path}`);
    }
    if (stats.size > bytesMax) throw new SecretFileError(`${path} is too large`);
    return readFileSync(file);
  } catch (error) {
    throw error instanceof SecretFileError ? error : new SecretFileError(messageOf(error));
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
