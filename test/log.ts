// The log of a service in the test's own process: all of it is kept for the run's search for secrets, and what the level
// lets through is printed.
import { multistream } from 'pino';
import type { LogLevel } from '../src/config/settings.js';
import { createLogger, type Log } from '../src/observability/logger.js';
import { keepSaid } from './setup/canary.js';

/** `onLine` sees every line, whatever the level, and what it reads is not printed. */
export function openLog(level: LogLevel, onLine?: (line: string) => void): Log {
  const keep = {
    write: (line: string) => {
      keepSaid('log', line);
      onLine?.(line);
    },
  };
  const streams = [{ level: 'trace' as const, stream: keep }];
  const printed = level === 'silent' || onLine !== undefined ? [] : [{ level, stream: process.stdout }];
  return createLogger({ logLevel: 'debug' }, multistream([...streams, ...printed]));
}
