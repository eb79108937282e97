/** Repeats background work: one run at a time until it is stopped, even after a run throws. */
import { sleep } from './clock.js';

interface RepeatOptions {
  /** One run. Returns the milliseconds until the next run. Must bound its own waits. */
  readonly run: () => Promise<number>;
  /** The delay after a failed run. */
  readonly retryMs: number;
  readonly onFailure: (error: unknown) => void;
}

export class Repeater {
  private isStopping = false;
  private sleeping = new AbortController();
  private loop: Promise<void> | undefined;
  private first: Promise<void> | undefined;

  constructor(private readonly options: RepeatOptions) {}

  /** Starts, and resolves when the first run has ended, successfully or not. */
  async start(): Promise<void> {
    this.loop ??= new Promise((ended) => {
      this.first = new Promise((ran) => {
        void this.repeat(ran).finally(ended);
      });
    });
    await this.first;
  }

  /** Starts no further run. The current run continues. */
  end(): void {
    this.isStopping = true;
    this.sleeping.abort();
  }

  /** True once no further run starts. A run with several claims should check it before each. */
  get isEnding(): boolean {
    return this.isStopping;
  }

  /** Stops, and resolves when the current run is over. */
  async stop(): Promise<void> {
    this.end();
    await this.loop;
  }

  /** Starts the next run now, or directly after the current one. */
  nudge(): void {
    this.sleeping.abort();
  }

  private async repeat(ran: () => void): Promise<void> {
    while (!this.isStopping) {
      this.sleeping = new AbortController();
      const waitMs = await this.runOnce();
      ran();
      // Varies the wait by ±5 %, so that processes started together do not stay in step.
      await sleep(waitMs * (0.95 + Math.random() * 0.1), this.sleeping.signal);
    }
    ran();
  }

  private async runOnce(): Promise<number> {
    try {
      return await this.options.run();
    } catch (error) {
      this.options.onFailure(error);
      return this.options.retryMs;
    }
  }
}
