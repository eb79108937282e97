// Terminal output of the demo: one event per line with both clocks, without colours if the output is no terminal. A
// line exceeds 80 columns only for a single longer word.

const BOLD = '1';
const DIM = '2';
const GREEN = '32';
const CYAN = '36';
const RED = '31';

const COLUMNS_MAX = 80;
/** Wide enough for both clocks: seconds since the start, and chain time. */
const INDENT = 18;
const LABEL = 17;
const VALUE_MAX = COLUMNS_MAX - INDENT - LABEL;
/** Indent of a value that does not fit next to its label: an id of 64 characters then ends at column 80. */
const LONG_VALUE_INDENT = 16;

export class Screen {
  private readonly startedAt = performance.now();
  private chainTimeMs: number | undefined;
  private readonly hasColour = process.stdout.isTTY && process.env['NO_COLOR'] === undefined;

  /** Sets the chain time shown on the following lines. */
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

  /** Prints an event that the merchant received. */
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

/** Breaks `text` into lines of at most `width` between words. Keeps leading spaces. */
function linesOf(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
