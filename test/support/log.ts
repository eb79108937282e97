// The log of a service in the test process. All of it is kept for the secret search; lines of `level` and above are
// printed.
import { multistream } from 'pino';
import type { LogLevel } from '../../src/platform/config/settings.js';
import { createLogger, type Log } from '../../src/platform/observability/logger.js';
import { keepSaid } from '../setup/canary.js';

/** Opens a log. `onLine` receives every line regardless of the level. With it, no line is printed. */
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
