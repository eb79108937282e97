/** A bounded map whose values each expire after their own time. The value that was set first is evicted first. */
import { monotonicMs } from './clock.js';

export class ExpiringMap<T> {
  /** The oldest first. */
  private readonly entries = new Map<string, { readonly value: T; readonly untilMs: number }>();

  constructor(private readonly keysMax: number) {}

  get(key: string): T | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined || monotonicMs() < entry.untilMs) return entry?.value;
    this.entries.delete(key);
    return undefined;
  }

  set(key: string, value: T, keptMs: number): void {
    this.entries.delete(key);
    this.entries.set(key, { value, untilMs: monotonicMs() + keptMs });
    if (this.entries.size <= this.keysMax) return;
    const [oldest] = this.entries.keys();
    if (oldest !== undefined) this.entries.delete(oldest);
  }
}
