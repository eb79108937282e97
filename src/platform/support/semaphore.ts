/** A semaphore with FIFO waiting and a maximum wait. */
import { DeadlineError } from './clock.js';

export class Semaphore {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly slots: number) {}

  /** Runs `work` when a slot is free. Throws DeadlineError when none is free within `waitMs`; 0 means no limit. */
  async run<T>(work: () => Promise<T>, waitMs: number): Promise<T> {
    if (this.running >= this.slots) await this.waitForSlot(waitMs);
    else this.running += 1;
    try {
      return await work();
    } finally {
      // Passes the slot to the next waiter (FIFO).
      const next = this.waiting.shift();
      if (next === undefined) this.running -= 1;
      else next();
    }
  }

  private async waitForSlot(waitMs: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const late = (): void => {
        this.waiting.splice(this.waiting.indexOf(enter), 1);
        reject(new DeadlineError(`its turn did not come within ${waitMs.toString()} ms`));
      };
      const timer = waitMs === 0 ? undefined : setTimeout(late, waitMs);
      const enter = (): void => {
        clearTimeout(timer);
        resolve();
      };
      this.waiting.push(enter);
    });
  }
}
