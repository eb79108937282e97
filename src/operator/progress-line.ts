/** How far a long look has come, on stderr: one line that is written over in a terminal, else a line for each check. */
import { monotonicMs } from '../base/clock.js';
import type { Progress } from '../verify/verify.js';
import type { Terminal } from './cli-context.js';
import { grouped } from './format.js';

/** Narrower than any terminal, so that no line wraps and is written over only in part. */
const WIDTH = 79;
/** How often a line within one check is written anew. */
const REDRAW_MS = 250;

export class ProgressLine {
  private readonly startedMs = monotonicMs();
  private drawnMs = Number.NEGATIVE_INFINITY;
  private check: string | undefined;

  constructor(private readonly terminal: Terminal) {}

  readonly show = ({ check, made, of, rows }: Progress): void => {
    const isNew = check !== this.check;
    // Of one check a log wants one line, and the operator some each second.
    if (!isNew && (this.terminal.isLive !== true || monotonicMs() - this.drawnMs < REDRAW_MS)) return;
    this.check = check;
    this.drawnMs = monotonicMs();
    const seconds = `${((monotonicMs() - this.startedMs) / 1000).toFixed(0)} s`;
    const judged = rows === undefined ? '' : `, ${grouped(BigInt(rows))} rows`;
    const line = `${(made + 1).toString()} of ${of.toString()}, ${seconds}: ${check}${judged}`.slice(0, WIDTH);
    this.terminal.err(this.terminal.isLive === true ? `\r${line.padEnd(WIDTH)}` : `${line}\n`);
  };

  /** Leaves the terminal's line empty for the answer. */
  end(): void {
    if (this.check !== undefined && this.terminal.isLive === true) this.terminal.err(`\r${' '.repeat(WIDTH)}\r`);
  }
}
