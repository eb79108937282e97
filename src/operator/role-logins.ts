/** Passwords of the database's logins: read from the environment or files, handed on as verifiers alone. */
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { SettingsReader } from '../config/settings-reader.js';
import { ALL_ROLES, type AnyRole, type Login } from '../store/roles.js';
import { usageError } from '../domain/operator-error.js';

const ITERATIONS = 4096;
const LENGTH_MIN = 16;

/** The setting that holds a login's password; with `_FILE` after it, the file that does. */
export const passwordSetting = (role: AnyRole): string => `DATABASE_PASSWORD_${role.toUpperCase()}`;

/**
 * What Postgres keeps of a password (RFC 5803): enough to check it, not to use it. So the password itself is in no
 * statement, and in no log of statements.
 */
function scramVerifier(password: string, salt: Buffer = randomBytes(16)): string {
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, 'sha256');
  const hmac = (text: string): Buffer => createHmac('sha256', salted).update(text).digest();
  const storedKey = createHash('sha256').update(hmac('Client Key')).digest('base64');
  const iterations = ITERATIONS.toString();
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${storedKey}:${hmac('Server Key').toString('base64')}`;
}

/** A login for each role whose password is set. Throws a usage error for an unreadable file or an unfit password. */
export function loginsFrom(env: Readonly<Record<string, string | undefined>>): Login[] {
  const reader = new SettingsReader(env, new Set(ALL_ROLES.map(passwordSetting)));
  const logins = ALL_ROLES.flatMap((role) => {
    const setting = passwordSetting(role);
    const password = reader.optional(setting);
    if (password === undefined) return [];
    // ASCII alone: other characters have more than one form, and two programs may choose differently.
    if (!/^[\x21-\x7e]+$/.test(password) || password.length < LENGTH_MIN) {
      throw usageError(`${setting} must be at least ${LENGTH_MIN.toString()} visible ASCII characters.`);
    }
    return [{ role, verifier: scramVerifier(password) }];
  });
  if (reader.faults.length > 0) throw usageError(`${reader.faults.join('; ')}.`);
  return logins;
}
