/** Reads the API key of commands that act as a merchant: never from the command line. */
import { readSecretFile } from '../../platform/support/secret-file.js';
import { messageOf } from '../../domain/errors.js';
import { usageError } from '../../domain/operator-error.js';
import type { Terminal } from './cli-context.js';

const KEY_FILE_BYTES_MAX = 1024;

/** Returns the key from the file, or from the variable API_KEY if no file is given. Throws OperatorError. */
export function apiKeyFrom(keyFile: string | undefined, { env }: Terminal): string {
  const apiKey = keyFile === undefined ? env['API_KEY'] : readKey(keyFile);
  if (apiKey === undefined || apiKey === '')
    throw usageError('The API key is missing. Set the variable API_KEY, or pass --key-file.');
  return apiKey;
}

function readKey(path: string): string {
  try {
    return readSecretFile(path, KEY_FILE_BYTES_MAX).toString('utf8').trim();
  } catch (error) {
    throw usageError(`Failed to read the key file: ${messageOf(error)}.`);
  }
}
