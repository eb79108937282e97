/**
 * Shows the progress of long checks on stderr: in a terminal one line that is overwritten, otherwise one line for each
 * check.
 */
import { grouped } from '../../domain/text.js';
import { monotonicMs } from '../../platform/support/clock.js';
import type { Progress } from '../verify/verify.js';
import type { Terminal } from './cli-context.js';

/** Narrower than any terminal, because a wrapped line would be overwritten only in part. */
const WIDTH = 79;
/** Minimum interval between two redraws within one check. */
const REDRAW_MS = 250;

export class ProgressLine {
  private readonly startedMs = monotonicMs();
  private drawnMs = Number.NEGATIVE_INFINITY;
  private check: string | undefined;

  constructor(private readonly terminal: Terminal) {}

  readonly show = ({ check, made, of, rows }: Progress): void => {
    const isNew = check !== this.check;
    // A log needs one line per check, the operator several a second.
    if (!isNew && (this.terminal.isLive !== true || monotonicMs() - this.drawnMs < REDRAW_MS)) return;
    this.check = check;
    this.drawnMs = monotonicMs();
    const seconds = `${((monotonicMs() - this.startedMs) / 1000).toFixed(0)} s`;
    const judged = rows === undefined ? '' : `, ${grouped(BigInt(rows))} rows`;
    const line = `${(made + 1).toString()} of ${of.toString()}, ${seconds}: ${check}${judged}`.slice(0, WIDTH);
    this.terminal.err(this.terminal.isLive === true ? `\r${line.padEnd(WIDTH)}` : `${line}\n`);
  };

  /** Clears the terminal's line for the answer. */
  end(): void {
    if (this.check !== undefined && this.terminal.isLive === true) this.terminal.err(`\r${' '.repeat(WIDTH)}\r`);
  }
}
