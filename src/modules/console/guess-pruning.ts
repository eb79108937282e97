/** Deletes expired guesses. */
import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { Repeater } from '../../platform/support/repeat.js';
import { Log } from '../../platform/observability/logger.js';
import { Guesses } from '../people/guesses.js';

const EVERY_MS = 600_000;
/** Pause while more rows remain. */
const BUSY_MS = 100;
const RETRY_MS = 60_000;

@Injectable()
export class GuessPruning implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly pruning: Repeater;

  constructor(guesses: Guesses, log: Log) {
    this.pruning = new Repeater({
      run: async () => ((await guesses.deleteExpired()) ? BUSY_MS : EVERY_MS),
      retryMs: RETRY_MS,
      onFailure: (err) => log.warn({ err }, 'failed to delete old guesses'),
    });
  }

  onApplicationBootstrap(): void {
    void this.pruning.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.pruning.stop();
  }
}
