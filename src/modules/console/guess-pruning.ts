/** Deletes expired guesses. */
import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { RepeatedTask } from '../../platform/support/repeated-task.js';
import { Log } from '../../platform/observability/logger.js';
import { Guesses } from '../people/guesses.js';

const EVERY_MS = 600_000;
/** Pause while more rows remain. */
const BUSY_MS = 100;
const RETRY_MS = 60_000;

@Injectable()
export class GuessPruning extends RepeatedTask implements OnApplicationBootstrap {
  constructor(
    private readonly guesses: Guesses,
    log: Log,
  ) {
    super(RETRY_MS, (err) => {
      log.warn({ err }, 'failed to delete old guesses');
    });
  }

  protected override async runOnce(): Promise<number> {
    return (await this.guesses.deleteExpired()) ? BUSY_MS : EVERY_MS;
  }

  onApplicationBootstrap(): void {
    this.start();
  }
}
