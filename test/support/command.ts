// A command as a shell or a supervisor starts it, with every process that it begins.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { limited, until } from '../../packages/local/src/wait.js';
import { keepSaid } from '../setup/canary.js';

export const COMMAND_LIMIT_MS = 60_000;
/** In the line that a process logs once it serves. */
export const LISTENING = '"msg":"listening"';

/** Zombies that wait for their parent count as ended. */
function tree(): Map<number, number> {
  const lines = execFileSync('ps', ['-eo', 'pid=,ppid=,stat='], { encoding: 'utf8' }).trim().split('\n');
  const rows = lines.map((line) => line.trim().split(/\s+/)).filter(([, , stat]) => !stat!.startsWith('Z'));
  return new Map(rows.map(([pid, parent]) => [Number(pid), Number(parent)]));
}

/** Returns a process and all that it began, directly or not. */
export function below(pid: number): number[] {
  const parents = tree();
  const found = [pid];
  for (const each of found) found.push(...[...parents].filter(([, parent]) => parent === each).map(([child]) => child));
  return found;
}

/** A command in its own process group, as a shell or a supervisor starts it. */
export class Command {
  private static readonly begun: Command[] = [];
  private said = '';
  private readonly closed: Promise<number | null>;

  constructor(
    private readonly child: ChildProcess,
    private readonly name: string,
  ) {
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (text) => (this.said += String(text)));
    this.closed = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        resolve(signal === null ? code : -1);
      });
    });
  }

  static start(name: string, args: readonly string[], extra: NodeJS.ProcessEnv, cwd?: string): Command {
    const child = spawn(name, args, {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_OPTIONS: '', DATABASE_URL: undefined, REDIS_URL: undefined, ...extra },
      cwd,
    });
    const command = new Command(child, [name, ...args.slice(0, 4)].join(' '));
    Command.begun.push(command);
    return command;
  }

  /** Ends the processes that a failed test left. */
  static async endAll(): Promise<void> {
    for (const command of Command.begun.splice(0)) await command.end();
  }

  get pid(): number {
    return this.child.pid!;
  }

  /** Waits until it has printed `text`. */
  async says(text: string, limitMs = COMMAND_LIMIT_MS): Promise<void> {
    const heard = (): true | undefined => {
      if (this.said.includes(text)) return true;
      if (this.child.exitCode !== null) throw new Error(`it ended: ${this.said}`);
      return undefined;
    };
    await until(heard, limitMs, `${this.name} saying ${text}`);
  }

  /** Returns the exit code of a command that ends by itself. */
  async ends(): Promise<number | null> {
    return limited(this.closed, COMMAND_LIMIT_MS, `the end of ${this.name}`);
  }

  /** Sends the signal to `pid` (a negative one is the group). Returns the exit code once no process of it is left. */
  async stop(signal: NodeJS.Signals, pid = this.pid): Promise<number | null> {
    const all = below(this.pid);
    process.kill(pid, signal);
    const code = await this.ends();
    const left = (): true | undefined => (all.some((each) => tree().has(each)) ? undefined : true);
    await until(left, COMMAND_LIMIT_MS, `the end of all that ${this.name} began`);
    return code;
  }

  private async end(): Promise<void> {
    keepSaid(`output of ${this.name}`, this.said);
    if (this.child.exitCode === null && this.child.signalCode === null) {
      for (const pid of below(this.pid).reverse()) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // It has ended meanwhile.
        }
      }
    }
    await this.closed;
  }

  /** Returns the port from its log line at the start. */
  async port(): Promise<number> {
    await this.says(LISTENING);
    const line = this.said.split('\n').find((text) => text.includes(LISTENING)) ?? '{}';
    return (JSON.parse(line) as { address: { port: number } }).address.port;
  }

  lines(text: string): number {
    return this.said.split('\n').filter((line) => line.includes(text)).length;
  }
}
