/** Work that a process repeats in its background: one run at a time, until it is stopped, whatever a run throws. */
import { sleep } from './clock.js';

interface RepeatOptions {
  /** One run; returns how many milliseconds later the next one is due. Must limit its own waits. */
  readonly run: () => Promise<number>;
  /** How long after a failed run the next one begins. */
  readonly retryMs: number;
  readonly onFailure: (error: unknown) => void;
}

export class Repeater {
  private isStopping = false;
  private sleeping = new AbortController();
  private loop: Promise<void> | undefined;
  private first: Promise<void> | undefined;

  constructor(private readonly options: RepeatOptions) {}

  /** Begins; resolves when the first run has ended, well or badly. */
  async start(): Promise<void> {
    this.loop ??= new Promise((ended) => {
      this.first = new Promise((ran) => {
        void this.repeat(ran).finally(ended);
      });
    });
    await this.first;
  }

  /** Begins no further run. The run in progress goes on. */
  end(): void {
    this.isStopping = true;
    this.sleeping.abort();
  }

  /** True once no further run begins. A run of several claims asks before each. */
  get isEnding(): boolean {
    return this.isStopping;
  }

  /** Ends; resolves when the run in progress is over. */
  async stop(): Promise<void> {
    this.end();
    await this.loop;
  }

  /** Begins the next run now, or as soon as the one in progress is over. */
  nudge(): void {
    this.sleeping.abort();
  }

  private async repeat(ran: () => void): Promise<void> {
    while (!this.isStopping) {
      this.sleeping = new AbortController();
      const waitMs = await this.runOnce();
      ran();
      // Spread by a tenth, so that processes started together do not stay in step.
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
