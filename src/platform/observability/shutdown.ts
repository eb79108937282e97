/**
 * Ends the process: the first SIGTERM or SIGINT begins the stop, further signals change nothing, and the process ends
 * with the stop. Created before anything else, since a signal without a listener has no effect on process 1.
 */
import type { INestApplicationContext } from '@nestjs/common';
import { DeadlineError } from '../support/clock.js';
import { type Log, NestLog } from './logger.js';

export class Stopping {
  private hasBegun = false;
  private stop: (() => Promise<void>) | undefined;

  /**
   * Listens from now on. Until `onSignal` sets a stop function no work is in progress, and a signal just ends the
   * process.
   */
  constructor(private readonly log: Log) {
    const begin = (): void => {
      this.begin();
    };
    process.on('SIGTERM', begin);
    process.on('SIGINT', begin);
  }

  /** A check for `/ready`: rejects once the process is stopping. */
  readonly check = (): Promise<void> =>
    this.hasBegun ? Promise.reject(new Error('the process is stopping')) : Promise.resolve();

  /**
   * Runs `stop` at the first signal and ends the process: code 0, or 1 if it failed. Exceeding the deadline is not a
   * failure.
   */
  onSignal(stop: () => Promise<void>): void {
    this.stop = stop;
  }

  private begin(): void {
    if (this.hasBegun) return;
    this.hasBegun = true;
    this.log.info({}, 'stopping');
    if (this.stop === undefined) process.exit(0);
    this.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        this.end(error);
      },
    );
  }

  private end(error: unknown): never {
    if (error instanceof DeadlineError) {
      // Unfinished work is resumed as after a crash.
      this.log.warn({}, 'stopped with unfinished work');
      process.exit(0);
    }
    this.log.error({ err: error }, 'failed to stop cleanly');
    process.exit(1);
  }
}

/**
 * Closes the application and runs all its shutdown hooks. Logs each hook's error and then rejects: `app.close()` of Nest
 * 12 resolves, and hands the errors to Nest's logger alone.
 */
export async function closeApp(app: INestApplicationContext, log: Log): Promise<void> {
  const hooks = new HookLog(log);
  app.useLogger(hooks);
  await app.close();
  const { failures } = hooks;
  if (failures > 0) throw new Error(`${failures.toString()} shutdown hook${failures === 1 ? '' : 's'} failed`);
}

/** Counts the errors of shutdown hooks among Nest's lines. */
class HookLog extends NestLog {
  failures = 0;

  override error(message: unknown, ...rest: unknown[]): void {
    // Nest logs a hook's error with its stack alone, and any other error with a context behind the stack.
    if (rest.length > 1) {
      super.error(message, ...rest);
      return;
    }
    this.failures += 1;
    this.target.error({ err: message }, 'failed to run a shutdown hook');
  }
}
