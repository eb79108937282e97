/**
 * Records counted signatures on disk before they leave, so that a killed signer restarts with the same window. One JSON
 * line each; all waiting entries are appended and synced together. A large file is rewritten.
 */
import { open, readFile, rename, stat, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { messageOf, StartError } from '../../domain/errors.js';
import type { Counted } from './window.js';

/** Size above which the file is rewritten with the entries that still count; about 3 000 signatures. */
const REWRITE_BYTES = 1024 * 1024;
/** Larger than any file that our rewriting leaves behind. */
const FILE_BYTES_MAX = 256 * 1024 * 1024;

class StateFileError extends StartError {
  override readonly name = 'StateFileError';
  constructor(message: string) {
    super('CONFIGURATION', message);
  }
}

interface Waiting {
  readonly line: string;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class Journal {
  private readonly kept = new WeakSet<Counted>();
  private waiting: Waiting[] = [];
  private writing: Promise<void> | undefined;
  private rewriteAt = REWRITE_BYTES;
  private bytes = 0;

  private constructor(
    private readonly path: string,
    private file: FileHandle,
    private readonly live: () => readonly Counted[],
  ) {}

  /**
   * Opens the file, with private permissions if new, and reads its entries. `live` returns the entries that a rewrite
   * must keep. A line truncated by a crash is skipped: its signature never left. Throws StateFileError.
   */
  static async open(
    path: string,
    live: () => readonly Counted[],
  ): Promise<{ readonly journal: Journal; readonly counted: readonly Counted[] }> {
    let file: FileHandle | undefined;
    try {
      file = await open(path, 'a', 0o600);
      const { mode, size } = await file.stat();
      if ((mode & 0o077) !== 0) throw new Error(`${path} is readable by others. Run chmod 600 ${path}`);
      if (size > FILE_BYTES_MAX) throw new Error(`${path} is too large`);
      const counted = (await readFile(path, 'utf8')).split('\n').flatMap((line) => readLine(line) ?? []);
      await syncFolder(path);
      const journal = new Journal(path, file, live);
      journal.bytes = size;
      for (const entry of counted) journal.kept.add(entry);
      return { journal, counted };
    } catch (error) {
      await file?.close();
      throw new StateFileError(`the state file (SIGNER_STATE_FILE) cannot be used: ${messageOf(error)}`);
    }
  }

  /** Resolves once the entry is on disk. Rejects if it could not be written; the call may then be repeated. */
  async keep(entry: Counted): Promise<void> {
    if (this.kept.has(entry)) return;
    await new Promise<void>((resolve, reject) => {
      this.waiting.push({ line: lineOf(entry), resolve, reject });
      this.writing ??= this.write().finally(() => (this.writing = undefined));
    });
    this.kept.add(entry);
  }

  async close(): Promise<void> {
    await this.writing;
    await this.file.close();
  }

  private async write(): Promise<void> {
    while (this.waiting.length > 0) {
      const batch = this.waiting;
      this.waiting = [];
      try {
        // Starts with a line break, so that a truncated line of a failed write cannot swallow the next entry.
        const text = `\n${batch.map(({ line }) => line).join('\n')}\n`;
        await this.file.appendFile(text);
        await this.file.datasync();
        this.bytes += Buffer.byteLength(text);
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(new StateFileError(messageOf(error)));
      }
      // A failed rewrite is harmless: the file grows until one succeeds.
      if (this.bytes > this.rewriteAt) await this.rewrite().catch(() => undefined);
    }
  }

  private async rewrite(): Promise<void> {
    this.rewriteAt = this.bytes * 2;
    const next = `${this.path}.next`;
    const file = await open(next, 'w', 0o600);
    try {
      await file.writeFile(
        this.live()
          .map((entry) => `${lineOf(entry)}\n`)
          .join(''),
      );
      await file.sync();
      await rename(next, this.path);
    } catch (error) {
      await file.close();
      throw error;
    }
    await syncFolder(this.path);
    await this.file.close();
    this.file = file;
    this.bytes = (await stat(this.path)).size;
    this.rewriteAt = Math.max(REWRITE_BYTES, this.bytes * 2);
  }
}

/** A new file name is durable only after its directory is synced. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function lineOf(entry: Counted): string {
  return JSON.stringify({ ...entry, amountSun: entry.amountSun.toString() });
}

function readLine(line: string): Counted | undefined {
  if (line === '') return undefined;
  try {
    const json = JSON.parse(line) as Readonly<Record<string, unknown>>;
    const anchor = json['anchor'] as Readonly<Record<string, unknown>>;
    const text = (name: string): string => {
      const value = json[name];
      if (typeof value !== 'string') throw new TypeError(name);
      return value;
    };
    const number = (from: Readonly<Record<string, unknown>>, name: string): number => {
      const value = from[name];
      if (typeof value !== 'number') throw new TypeError(name);
      return value;
    };
    const momentOf = (from: Readonly<Record<string, unknown>>) => ({
      monotonicMs: number(from, 'monotonicMs'),
      wallMs: number(from, 'wallMs'),
    });
    return {
      wallet: text('wallet'),
      txid: text('txid'),
      amountSun: BigInt(text('amountSun')),
      ...momentOf(json),
      anchor: {
        expiresAtMs: number(anchor, 'expiresAtMs'),
        allowanceMs: number(anchor, 'allowanceMs'),
        ...momentOf(anchor),
      },
    };
  } catch {
    return undefined;
  }
}
