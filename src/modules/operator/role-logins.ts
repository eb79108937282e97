/** Reads the passwords of the database logins from the environment or files, and passes on only their verifiers. */
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { SettingsReader } from '../../platform/config/settings-reader.js';
import { ALL_ROLES, type AnyRole, type Login } from '../../platform/database/roles.js';
import { usageError } from '../../domain/operator-error.js';

const ITERATIONS = 4096;
const LENGTH_MIN = 16;

/** The setting with a login's password; with the suffix `_FILE`, the file that contains it. */
export const passwordSetting = (role: AnyRole): string => `DATABASE_PASSWORD_${role.toUpperCase()}`;

/**
 * Returns the verifier that Postgres stores for a password (RFC 5803): enough to check the password, not to use it. So
 * the password itself is in no statement and in no log of statements.
 */
function scramVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, 'sha256');
  const hmac = (text: string): Buffer => createHmac('sha256', salted).update(text).digest();
  const storedKey = createHash('sha256').update(hmac('Client Key')).digest('base64');
  const iterations = ITERATIONS.toString();
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${storedKey}:${hmac('Server Key').toString('base64')}`;
}

/**
 * Returns a login for each role whose password is set. Throws a usage error for an unreadable file or an invalid
 * password.
 */
export function loginsFrom(env: Readonly<Record<string, string | undefined>>): Login[] {
  const reader = new SettingsReader(env, new Set(ALL_ROLES.map(passwordSetting)));
  const logins = ALL_ROLES.flatMap((role) => {
    const setting = passwordSetting(role);
    const password = reader.optional(setting);
    if (password === undefined) return [];
    // ASCII only: other characters have several encodings, and two programs may choose different ones.
    if (!/^[\x21-\x7e]+$/.test(password) || password.length < LENGTH_MIN) {
      throw usageError(`${setting} must be at least ${LENGTH_MIN.toString()} visible ASCII characters.`);
    }
    return [{ role, verifier: scramVerifier(password) }];
  });
  if (reader.faults.length > 0) throw usageError(`${reader.faults.join('; ')}.`);
  return logins;
}
