/** The user that this process runs as. */
import { userInfo } from 'node:os';

/** Its name; `uid N` where the machine's list of users has no entry for it, as in many containers. */
export function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return process.getuid === undefined ? '' : `uid ${process.getuid().toString()}`;
  }
}
