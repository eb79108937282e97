/**
 * The context of every command: output, actor and reason, and confirmation of dangerous acts. Builds the service's
 * parts only for commands that need them.
 */
import type { Readable } from 'node:stream';
import type { INestApplicationContext } from '@nestjs/common';
import type { Author } from '../../platform/database/audit-log.js';
import { forTerminal, jsonForTerminal } from '../../domain/printable.js';
import { usageError } from '../../domain/operator-error.js';

/** The process around the CLI, replaceable in tests. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  out(text: string): void;
  err(text: string): void;
  /** True if the operator sees `err` line by line; false for a log. */
  readonly isLive?: boolean;
  /** The machine's logged-in user; empty if unknown. */
  readonly user: string;
  /** Standard input, if it is not a keyboard. */
  readonly input?: Readable | undefined;
  /** For a command without an end: from this call on, Ctrl-C aborts the signal, and a second one ends the process. */
  readonly interrupted?: () => AbortSignal;
  /** Asks the operator at the keyboard; undefined without one. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
}

/** The options that every command takes. */
export interface GlobalOptions {
  readonly json?: boolean;
  readonly yes?: boolean;
  readonly actor?: string;
  readonly reason?: string;
}

const ACTOR_LENGTH_MAX = 200;
const REASON_LENGTH_MAX = 1000;

export class CliContext {
  private options: GlobalOptions = {};

  constructor(readonly terminal: Terminal) {}

  /** Sets the global options of this call, before any command runs. */
  settle(options: GlobalOptions): void {
    this.options = options;
  }

  get isJson(): boolean {
    return this.options.json === true;
  }

  /** Prints the answer of a command: `human` for the operator, `json` as one document for programs. */
  print(human: string, json: unknown): void {
    this.terminal.out(this.isJson ? `${toJson(json)}\n` : `${forTerminal(human)}\n`);
  }

  /** Prints a remark on stderr, so that stdout contains only the answer. */
  warn(message: string): void {
    this.terminal.err(this.isJson ? `${toJson({ warning: message })}\n` : `Warning: ${forTerminal(message)}\n`);
  }

  /** Returns the actor: --actor or the user of the machine. `reasonDefault` replaces a missing --reason. */
  actor(reasonDefault?: string): Author {
    const actor = this.options.actor ?? this.terminal.env['USER'] ?? this.terminal.user;
    if (actor.trim() === '' || actor.length > ACTOR_LENGTH_MAX) {
      throw usageError('The audit log needs a name, and this machine has no user name. Pass --actor NAME.');
    }
    const reason = this.options.reason ?? reasonDefault ?? '';
    if (reason.trim() === '' || reason.length > REASON_LENGTH_MAX) {
      throw usageError('This command records its reason. Pass --reason TEXT.');
    }
    return { actor: actor.trim(), reason: reason.trim() };
  }

  /** Continues only after a yes: from --yes or from the keyboard. */
  async confirm(act: string): Promise<void> {
    if (this.options.yes === true) return;
    if (this.terminal.ask === undefined) {
      throw usageError(`${act} Confirm with --yes.`);
    }
    const answer = await this.terminal.ask(`${act} Continue? [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) throw usageError('Not confirmed. Nothing was changed.');
  }

  /** Asks the operator at the keyboard for `what`. Without a keyboard, throws with the option that gives it. */
  async askFor(act: string, what: string, option: string): Promise<string> {
    if (this.terminal.ask === undefined) throw usageError(`${act} Confirm with ${option} and --yes.`);
    return (await this.terminal.ask(`${act} Type ${what}: `)).trim();
  }

  /** Runs `work` with the service's parts, and always closes them. */
  async operate<T>(work: (parts: INestApplicationContext) => Promise<T>): Promise<T> {
    // Loaded here, so that `migrate` and `--help` need neither the settings nor the parts.
    const { openParts } = await import('./operator.module.js');
    const parts = await openParts(this.terminal.env);
    try {
      return await work(parts);
    } finally {
      await parts.close();
    }
  }
}

/** JSON in an external format, such as a node's transaction: printed with exactly its own members. */
export class ForeignJson {
  constructor(readonly value: unknown) {}
}

/**
 * Formats JSON for programs: members in snake_case like the interface's, and bytes in hex. Bigints become integers, or
 * texts where a JSON parser would round them.
 */
function toJson(value: unknown): string {
  return jsonForTerminal(JSON.stringify(plain(value), undefined, 2));
}

function plain(value: unknown): unknown {
  if (value instanceof ForeignJson) return value.value;
  if (typeof value === 'bigint') {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value.toString();
  }
  if (Buffer.isBuffer(value)) return value.toString('hex');
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [snakeCase(name), plain(member)]));
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
