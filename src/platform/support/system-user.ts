import { userInfo } from 'node:os';

/**
 * Returns the name of the user that runs this process. `uid N` if the machine has no entry for the user, as in many
 * containers.
 */
export function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return process.getuid === undefined ? '' : `uid ${process.getuid().toString()}`;
  }
}
