// Starts processes that cannot outlive this one. Each runs under a small shell that holds a pipe from this process.
// When the pipe closes for any reason, SIGKILL included, the shell ends the child and removes its directory. This must
// never depend on the child's cooperation or on an exit handler here.
import { spawn, type ChildProcess } from 'node:child_process';
import { channel } from 'node:diagnostics_channel';
import { rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { limited } from './wait.js';

// fd 0: the pipe; its end means that the parent is gone. fd 3: the guard's messages to the parent ("pid N", "exit
// CODE"). The guard reads with the builtin `read`, so it adds exactly one process. It ignores signals only after the
// child has started, because a child inherits ignored signals. After the child's exit the guard ends. If it has a
// directory to remove, it first waits for the pipe, so that the parent can still inspect the directory. It retries the
// removal for 4 s, because another guard's process may still write there while it ends.
const GUARD = `
dir=$1 sig=$2; shift 2
exec 4<&0 </dev/null
"$@" 3>&- 4<&- &
pid=$!
trap '' HUP INT TERM PIPE
echo "pid $pid" >&3
( while read -r _ <&4; do :; done
  kill -s "$sig" "$pid"
  n=0; while [ $n -lt 25 ] && kill -0 "$pid"; do sleep 0.1; n=$((n+1)); done
  kill -s KILL "$pid" ) >/dev/null 2>&1 3>&- &
killer=$!
exec >/dev/null 2>&1
wait "$pid"
echo "exit $?" >&3
kill -s KILL "$killer"
while [ -n "$dir" ] && read -r _ <&4; do :; done
n=0; while [ -n "$dir" ] && [ -e "$dir" ] && [ $n -lt 40 ]; do
  [ $n -eq 0 ] || sleep 0.1
  rm -rf -- "$dir"; n=$((n+1))
done
`;

/** A diagnostics channel that reports each child and each line it prints. */
export const CHILDREN = 'energy.children';

export interface ChildNews {
  readonly name: string;
  /**
   * Sent once, when the child starts: its environment and arguments. Every user of the machine can read the arguments.
   */
  readonly env?: NodeJS.ProcessEnv;
  readonly args?: readonly string[];
  readonly line?: string;
}

const children = channel(CHILDREN);
const TAIL_LINES_MAX = 200;
const LINE_CHARS_MAX = 4_000;
const START_LIMIT_MS = 10_000;
const FINISH_LIMIT_MS = 15_000;

export interface GuardOptions {
  /** Used in messages. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** The child's whole environment. */
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** User to run as; requires root. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  /** Removed after the child has ended and `stop` was called, or after the parent is gone. */
  readonly removeDir?: string | undefined;
  /** Signal to the child when the parent is gone; SIGKILL follows after 2.5 s. */
  readonly abandonSignal: 'QUIT' | 'TERM' | 'KILL';
  /** Called with each line that the child prints. */
  readonly onLine?: ((line: string, stream: 'stdout' | 'stderr') => void) | undefined;
}

/** A child process that ends with its parent. */
export class GuardedProcess {
  /** Resolves with the exit code (128 + n after signal n; -1 if the guard itself was killed). */
  readonly exited: Promise<number>;
  private readonly lines: string[] = [];
  private readonly guardEnded: Promise<void>;
  private ended = false;

  private constructor(
    readonly name: string,
    /** Process id of the child, not of its guard. */
    readonly pid: number,
    private readonly guard: ChildProcess,
    private readonly options: GuardOptions,
    control: ControlLines,
  ) {
    this.guardEnded = new Promise((resolve) => {
      guard.once('exit', () => {
        resolve();
      });
    });
    // Based on the control pipe, not on the guard's exit: its last message may still be in transit then.
    const guardKilled = control.closed.then(() => -1);
    this.exited = Promise.race([control.exit, guardKilled]).then((code) => {
      // Without its guard, only this process can end the child.
      if (code === -1) this.signal('SIGKILL');
      this.ended = true;
      return code;
    });
  }

  /** Starts the child. Throws if the guard reports no process within 10 s. */
  static async start(options: GuardOptions): Promise<GuardedProcess> {
    children.publish({ name: options.name, env: options.env, args: options.args } satisfies ChildNews);
    const guard = spawn(
      '/bin/sh',
      ['-c', GUARD, 'guard', options.removeDir ?? '', options.abandonSignal, options.command, ...options.args],
      {
        // A session of its own: Ctrl-C in the terminal reaches only the parent, which controls the order of shutdown.
        detached: true,
        stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
        env: options.env,
        cwd: options.cwd ?? '/',
        ...(options.user ?? {}),
      },
    );
    const failed = new Promise<never>((_, reject) => {
      guard.once('error', reject);
    });
    // Prevents a crash if the guard ends before a write, or after a failed start.
    failed.catch(() => undefined);
    guard.stdin.on('error', () => undefined);
    const control = controlLines(guard.stdio[3] as Readable);
    const pid = await limited(Promise.race([control.pid, failed]), START_LIMIT_MS, `starting ${options.name}`);
    const started = new GuardedProcess(options.name, pid, guard, options, control);
    started.listen('stdout', guard.stdout);
    started.listen('stderr', guard.stderr);
    doNotWaitFor(guard);
    return started;
  }

  /** True until the child has ended. */
  get isRunning(): boolean {
    return !this.ended;
  }

  /** Returns the last lines that the child printed, for error messages. */
  tail(count = 30): string {
    return this.lines.slice(-count).join('\n');
  }

  /** Sends a signal. Ignores a child that has already ended. */
  signal(signal: NodeJS.Signals): void {
    if (this.ended) return;
    try {
      process.kill(this.pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }

  /** Sends `signal`, then SIGKILL after `graceMs`. Returns when the guard has cleaned up. */
  async stop(signal: NodeJS.Signals, graceMs: number): Promise<void> {
    this.signal(signal);
    const insist = setTimeout(() => {
      this.signal('SIGKILL');
    }, graceMs);
    try {
      await limited(this.exited, graceMs + START_LIMIT_MS, `the end of ${this.name}`);
    } finally {
      clearTimeout(insist);
      this.guard.stdin?.end();
    }
    await limited(this.guardEnded, FINISH_LIMIT_MS, `the guard of ${this.name}`);
    // The guard has already done this unless it was killed.
    if (this.options.removeDir !== undefined) {
      await rm(this.options.removeDir, { recursive: true, force: true });
    }
  }

  private listen(stream: 'stdout' | 'stderr', from: Readable | null): void {
    if (from === null) return;
    createInterface({ input: from }).on('line', (line) => {
      this.lines.push(line.slice(0, LINE_CHARS_MAX));
      if (this.lines.length > TAIL_LINES_MAX) this.lines.shift();
      this.options.onLine?.(line, stream);
      children.publish({ name: this.name, line } satisfies ChildNews);
    });
  }
}

/**
 * Removes `dir` on `stop`, or when this process is gone. Processes that use the directory have guards of their own.
 * This guard runs as the current user, who owns the directory, even if the server runs as another user.
 */
export async function guardDirectory(dir: string): Promise<GuardedProcess> {
  return GuardedProcess.start({
    name: `the guard of ${dir}`,
    command: ':', // No command: only the guard remains.
    args: [],
    env: { PATH: process.env['PATH'] },
    removeDir: dir,
    abandonSignal: 'KILL',
  });
}

/** Messages of the guard: the child's id, its exit code, and the end of the pipe. */
interface ControlLines {
  readonly pid: Promise<number>;
  readonly exit: Promise<number>;
  readonly closed: Promise<void>;
}

function controlLines(from: Readable): ControlLines {
  const lines = createInterface({ input: from });
  const word = (name: string, whenClosed?: Error): Promise<number> =>
    new Promise((resolve, reject) => {
      lines.on('line', (line) => {
        const [key, value] = line.split(' ');
        if (key === name) resolve(Number(value));
      });
      if (whenClosed)
        lines.once('close', () => {
          reject(whenClosed);
        });
    });
  return {
    pid: word('pid', new Error('the guard ended before it started anything')),
    exit: word('exit'),
    closed: new Promise((resolve) => lines.once('close', resolve)),
  };
}

/** Lets the event loop end while the child lives; the child then ends with this process. */
function doNotWaitFor(guard: ChildProcess): void {
  guard.unref();
  for (const stream of guard.stdio) {
    const handle = stream as { unref?: () => void } | null | undefined;
    handle?.unref?.();
  }
}
