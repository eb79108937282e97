/**
 * How a process ends: the first SIGTERM or SIGINT begins its stop, further ones change nothing, and the stop's end is
 * the process's. Made before anything else, since a signal that nobody listens for does nothing to process 1.
 */
import { DeadlineError } from '../base/clock.js';
import type { Log } from './logger.js';

export class Stopping {
  private hasBegun = false;
  private stop: (() => Promise<void>) | undefined;

  /** Listens from now on: until `onSignal` says how to stop, nothing is under way, and the process just ends. */
  constructor(private readonly log: Log) {
    const begin = (): void => {
      this.begin();
    };
    process.on('SIGTERM', begin);
    process.on('SIGINT', begin);
  }

  /** A check for `/ready`: throws once the process is stopping. */
  readonly check = (): Promise<void> =>
    this.hasBegun ? Promise.reject(new Error('the process is stopping')) : Promise.resolve();

  /** Runs `stop` at the first signal and ends the process: code 0, or 1 when it failed. Out of time is no failure. */
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
      // What was in the middle is gone on with as after a crash.
      this.log.warn({}, 'stopped in the middle');
      process.exit(0);
    }
    this.log.error({ err: error }, 'The stop failed.');
    process.exit(1);
  }
}
