import type { BeforeApplicationShutdown, OnModuleDestroy } from '@nestjs/common';
import { Repeater } from './repeat.js';

/** A background task of a process: repeats `runOnce` from `start` until Nest closes the application. */
export abstract class RepeatedTask implements BeforeApplicationShutdown, OnModuleDestroy {
  protected readonly repeater: Repeater;

  /** A failed run is repeated after `retryMs`. */
  protected constructor(retryMs: number, onFailure: (error: unknown) => void) {
    this.repeater = new Repeater({ run: () => this.runOnce(), retryMs, onFailure });
  }

  /** Returns the milliseconds until the next run. Must bound its own waits. */
  protected abstract runOnce(): Promise<number>;

  start(): void {
    void this.repeater.start();
  }

  /** Stops, and resolves when the current run is over. */
  async stop(): Promise<void> {
    await this.repeater.stop();
  }

  /** Starts no further run. Nest calls this hook on all modules before it waits for the work of any. */
  onModuleDestroy(): void {
    this.repeater.end();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.stop();
  }
}
