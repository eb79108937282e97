// What the demo shows: one event after the other with both clocks, plain when the output is no terminal. No line is
// longer than 80 columns but by a word that is.

const BOLD = '1';
const DIM = '2';
const GREEN = '32';
const CYAN = '36';
const RED = '31';

const COLUMNS_MAX = 80;
/** Wide enough for both clocks: seconds since the start, and the chain's time. */
const INDENT = 18;
const LABEL = 17;
const VALUE_MAX = COLUMNS_MAX - INDENT - LABEL;
/** So far a value stands that would not fit beside its label: an id of 64 characters ends at the 80th column. */
const LONG_VALUE_INDENT = 16;

export class Screen {
  private readonly startedAt = performance.now();
  private chainTimeMs: number | undefined;
  private readonly hasColour = process.stdout.isTTY && process.env['NO_COLOR'] === undefined;

  /** The chain's clock of the lines that follow. */
  setChainTime(ms: number): void {
    this.chainTimeMs = ms;
  }

  title(text: string): void {
    console.log(
      `\n${linesOf(text, COLUMNS_MAX)
        .map((line) => this.paint(BOLD, line))
        .join('\n')}`,
    );
  }

  step(text: string): void {
    console.log(this.event('', text));
  }

  done(text: string): void {
    console.log(this.event('✓', text, GREEN));
  }

  detail(label: string, value: string): void {
    const [first = '', ...rest] = linesOf(value, VALUE_MAX);
    const name = `${' '.repeat(INDENT)}${this.paint(DIM, label.padEnd(LABEL))}`;
    if (first.length > VALUE_MAX) console.log(`${name.trimEnd()}\n${' '.repeat(LONG_VALUE_INDENT)}${value}`);
    else console.log([name + first, ...rest.map((line) => ' '.repeat(INDENT + LABEL) + line)].join('\n'));
  }

  request(text: string): void {
    console.log(this.event('→', text, CYAN));
  }

  /** What came to the merchant. */
  arrived(text: string): void {
    console.log(this.event('←', text, CYAN));
  }

  failure(text: string): void {
    console.error(this.event('✗', text, RED));
  }

  plain(text: string): void {
    console.log(text);
  }

  private event(mark: string, text: string, colour = DIM): string {
    const indent = mark === '' ? INDENT : INDENT + mark.length + 1;
    const [first = '', ...rest] = linesOf(text, COLUMNS_MAX - indent);
    const head = mark === '' ? this.clocks() : `${this.clocks()}${this.paint(colour, mark)} `;
    return [head + first, ...rest.map((line) => ' '.repeat(indent) + line)].join('\n');
  }

  private clocks(): string {
    const wall = `${((performance.now() - this.startedAt) / 1000).toFixed(1)}s`;
    const chain = this.chainTimeMs === undefined ? '' : new Date(this.chainTimeMs).toISOString().slice(11, 19);
    return this.paint(DIM, `${wall.padStart(6)}  ${chain.padEnd(8)}  `);
  }

  private paint(code: string, text: string): string {
    return this.hasColour ? `\u001b[${code}m${text}\u001b[0m` : text;
  }
}

/** `text` in lines of at most `width`, broken between words; what begins with spaces keeps them. */
function linesOf(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
