/** Reports a failed start: one line on stderr with the cause and the remedy, and exit code 1. */
import { writeSync } from 'node:fs';
import { reasonOf, StartError } from '../../domain/errors.js';

/** Writes the line as JSON, for processes with a JSON log. An unforeseen error includes its stack. */
export function failStart(thrown: unknown): never {
  const stack = thrown instanceof StartError || !(thrown instanceof Error) ? undefined : thrown.stack;
  writeSync(2, `${JSON.stringify({ level: 'fatal', msg: `${reasonOf(thrown)}.`, stack })}\n`);
  process.exit(1);
}

/** The names of the settings for the listening port and host. */
interface ListenSettings {
  readonly port: string;
  readonly host: string;
}

/** Resolves as `listening` does. Rejects with StartError `PORT_UNAVAILABLE`, naming the setting to change. */
export async function opened<T>(listening: Promise<T>, settings: ListenSettings): Promise<T> {
  try {
    return await listening;
  } catch (error) {
    const cause = causeOf(error as NodeJS.ErrnoException & { readonly port?: number }, settings);
    throw cause === undefined ? error : new StartError('PORT_UNAVAILABLE', cause, error);
  }
}

function causeOf(
  { code, port, address }: NodeJS.ErrnoException & { readonly port?: number; readonly address?: string },
  settings: ListenSettings,
): string | undefined {
  const where = `port ${String(port ?? '')} of ${settings.port}`;
  switch (code) {
    case 'EADDRINUSE':
      return `Another program already listens on ${where}. Stop it, or choose another port with ${settings.port}.`;
    case 'EACCES':
      return `This user may not listen on ${where}. Choose a port above 1023 with ${settings.port}.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EINVAL':
      return `${settings.host} is not an address of this machine${address === undefined ? '' : ` (${address})`}. Set it to one, or to 0.0.0.0 for all.`;
    default:
      return undefined;
  }
}
