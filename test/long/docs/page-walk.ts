// Executes a page as its reader would, in its own folder, against a whole service. It runs every fenced block in the
// page's order and compares each shown answer with the real one.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { HmacCustomer } from '../../support/api/client.js';
import { membersOf, steady, type Block } from '../../support/docs/page-blocks.js';
import { cliWith } from '../../support/cli.js';
import { keepShown, PUBLISHED_KEY } from '../../setup/canary.js';

/** The port on which the pages' receiver listens. */
const SHOWN_PORT = /\b4000\b/g;
/** The receive address in the pages. */
const SHOWN_RECEIVER = /\bTF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF\b/g;
/** The key in docs/check-your-signature.md. */
const SHOWN_KEY = PUBLISHED_KEY;
const STATE = '.page-state';

export interface PageService {
  /** The folder where the page's reader begins. */
  readonly folder: string;
  readonly customer: HmacCustomer;
  /** Values that the reader knows beside the page, by the variables that hold them. */
  readonly env: Readonly<Record<string, string>>;
  readonly port: number;
}

interface Answered {
  readonly text: string;
  readonly isRefusal: boolean;
}

export class PageWalk {
  private last: Answered | undefined;
  private readonly saved = new Map<string, Block>();
  private readonly groups: number[] = [];

  constructor(private readonly service: PageService) {}

  /** Runs the blocks. Throws when one behaves differently from the page, or when no runner exists for its kind. */
  async walk(blocks: readonly Block[]): Promise<void> {
    await mkdir(this.service.folder, { recursive: true });
    await writeFile(join(this.service.folder, STATE), `cd ${this.service.folder}\n`);
    for (const block of blocks) await this.step(block).catch((error: unknown) => this.blame(block, error));
    const idle = [...this.saved.values()].map(({ where, file }) => `${where} ${file!}`);
    if (idle.length > 0) throw new Error(`programs that the page never runs: ${idle.join(', ')}`);
  }

  /** Kills every process that the page left running. */
  end(): void {
    for (const group of this.groups.splice(0)) {
      try {
        process.kill(-group, 'SIGKILL');
      } catch {
        // It has already ended.
      }
    }
  }

  private async step(block: Block): Promise<void> {
    const { kind, text } = block;
    if (kind === 'sh') return this.type(text);
    if (kind === 'js' || kind === 'python') return this.save(block);
    if (kind === 'http') return this.send(text);
    if (kind === 'console') return this.check(text);
    if (kind !== 'text' && kind !== 'json') throw new Error(`nothing runs blocks of the kind "${kind}"`);
    const { text: answered, isRefusal } = this.answer();
    if (kind === 'text') {
      expect(steady(answered)).toBe(steady(text));
      return;
    }
    const shown = JSON.parse(text) as { ok?: boolean };
    expect(membersOf(shown)).toEqual(membersOf(JSON.parse(answered)));
    expect(isRefusal).toBe(shown.ok === false);
  }

  private answer(): Answered {
    if (this.last === undefined) throw new Error('it shows an answer, and nothing was run before it');
    return this.last;
  }

  /** Saves a program under the name in its first line. A shell block runs it later. */
  private async save(block: Block): Promise<void> {
    if (block.file === undefined) throw new Error('its first line does not say as what it is saved');
    for (const name of this.saved.keys()) if (block.text.includes(`'./${name}'`)) this.saved.delete(name);
    this.saved.set(block.file, block);
    await writeFile(join(await this.place(), block.file), block.text);
  }

  /** Runs shell lines. Folder and variables carry over to the next block. */
  private async type(text: string): Promise<void> {
    // An exported value may come from the answer to the line before.
    for (const part of text.split(/^(?=export )/m))
      await this.run(part.startsWith('export ') ? this.known(part) : part);
  }

  private async run(part: string): Promise<void> {
    const script = part.replaceAll(SHOWN_PORT, this.service.port.toString());
    for (const name of this.saved.keys()) if (new RegExp(`\\b${name}\\b`).test(script)) this.saved.delete(name);
    const state = join(this.service.folder, STATE);
    const keep = `trap '{ export -p; printf "cd %q\\n" "$PWD"; } > ${state}' EXIT`;
    const out = await open(`${state}.out`, 'w');
    const err = await open(`${state}.err`, 'w');
    const child = spawn('bash', ['-c', `. ${state}\nset -eu -o pipefail\n${keep}\n${script}`], {
      cwd: this.service.folder,
      env: { PATH: process.env['PATH'], HOME: this.service.folder, ...this.service.env },
      stdio: ['ignore', out.fd, err.fd],
      // A separate process group, so that `end` can kill all that it starts.
      detached: true,
    });
    this.groups.push(child.pid!);
    const [code] = (await once(child, 'exit')) as [number | null];
    await Promise.all([out.close(), err.close()]);
    const [said, complaint] = await Promise.all(['out', 'err'].map((end) => readFile(`${state}.${end}`, 'utf8')));
    keepShown('output of pages', said! + complaint!);
    if (said !== '') this.last = { text: said!, isRefusal: false };
    expect({ code, complaint }).toEqual({ code: 0, complaint: '' });
  }

  /** Fills in the variables of the first line, from the service or from the previous answer. */
  private known(lines: string): string {
    const [line = '', ...rest] = lines.split('\n');
    const set = line.replaceAll(/(\w+)=("[^"]*"|'[^']*'|[^\s#]*)/g, (whole, name: string, value: string) => {
      const given = this.service.env[name];
      if (given !== undefined) return `${name}='${given}'`;
      if (!value.endsWith('...')) return whole;
      const shown = JSON.parse(this.answer().text) as Record<string, string>;
      const found = shown[name === 'WEBHOOK' ? 'id' : name.toLowerCase().replace('webhook_', '')];
      if (found === undefined) throw new Error(`where is ${name} from?`);
      return `${name}='${found}'`;
    });
    return [set, ...rest].join('\n');
  }

  /** Sends a signed request: method and path, and a body below them. */
  private async send(text: string): Promise<void> {
    const [first = '', ...rest] = text.replaceAll(SHOWN_RECEIVER, this.service.env['RECEIVER']!).split('\n');
    const [method = '', path = ''] = first.split(' ');
    const body = rest.join('\n').trim();
    const headers = body === '' ? {} : { 'Content-Type': 'application/json' };
    const { status, text: answered } = await this.service.customer.request(method, path, headers, body || undefined);
    this.last = { text: answered, isRefusal: status >= 400 };
  }

  /** Runs a CLI command after `$` and compares its output. */
  private async check(text: string): Promise<void> {
    const [, command, output] = /^\$ npm run -s cli -- (.*?)\n\n(.*)\n$/s.exec(text) ?? [];
    if (command === undefined) throw new Error('it is not a command of the CLI and what it prints');
    const words = command.replaceAll('\\\n', ' ').match(/'[^']*'|\S+/g) ?? [];
    const { out } = await cliWith({ API_KEY: SHOWN_KEY })(...words.map((word) => word.replaceAll("'", '')));
    // The age of the page's timestamp changes every second.
    expect(out.trimEnd().replace(/\nX-CC-Timestamp is \d+ s behind.*/, '')).toBe(output);
  }

  private async place(): Promise<string> {
    const state = await readFile(join(this.service.folder, STATE), 'utf8');
    return /^cd (.*)$/m.exec(state)![1]!;
  }

  private blame({ where, text }: Block, error: unknown): never {
    const { message } = error as Error;
    throw new Error(`${where}: ${message}\n${text}\nlast answer: ${this.last?.text ?? 'none'}`, { cause: error });
  }
}
