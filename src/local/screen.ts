// What the demo shows: one line per event with both clocks, plain when the output is no terminal.

const BOLD = '1';
const DIM = '2';
const GREEN = '32';
const CYAN = '36';
const RED = '31';

export class Screen {
  private readonly startedAt = performance.now();
  private chainTimeMs: number | undefined;
  private readonly hasColour = process.stdout.isTTY && process.env['NO_COLOR'] === undefined;

  /** The chain's clock of the lines that follow. */
  setChainTime(ms: number): void {
    this.chainTimeMs = ms;
  }

  title(text: string): void {
    console.log(`\n${this.paint(BOLD, text)}`);
  }

  step(text: string): void {
    console.log(`${this.clocks()}  ${text}`);
  }

  done(text: string): void {
    console.log(`${this.clocks()}  ${this.paint(GREEN, '✓')} ${text}`);
  }

  detail(label: string, value: string): void {
    console.log(`${' '.repeat(24)}${this.paint(DIM, label.padEnd(18))} ${value}`);
  }

  request(text: string): void {
    console.log(`${this.clocks()}  ${this.paint(CYAN, `→ ${text}`)}`);
  }

  failure(text: string): void {
    console.error(`${this.clocks()}  ${this.paint(RED, `✗ ${text}`)}`);
  }

  plain(text: string): void {
    console.log(text);
  }

  private clocks(): string {
    const wall = `${((performance.now() - this.startedAt) / 1000).toFixed(1)} s`;
    const chain = this.chainTimeMs === undefined ? '' : new Date(this.chainTimeMs).toISOString().slice(11, 19);
    return this.paint(DIM, `${wall.padStart(7)}  chain ${chain.padEnd(8)}`);
  }

  private paint(code: string, text: string): string {
    return this.hasColour ? `\u001b[${code}m${text}\u001b[0m` : text;
  }
}
