// Starts the service's Node processes (API, worker, local chain) so that they end with this one.
import { GuardedProcess } from './guard.js';
import { limited } from './wait.js';

const READY_LIMIT_MS = 30_000;
const STOP_GRACE_MS = 10_000;

export interface NodeOptions<T> {
  /** Used in messages. */
  readonly name: string;
  readonly args?: readonly string[];
  /** Merged over this process's environment; undefined removes a variable. */
  readonly env?: NodeJS.ProcessEnv;
  /** Called with each line of stdout. The first result other than undefined means ready. */
  readonly readyWhen?: (line: string) => T | undefined;
  /** Default: 30 s. */
  readonly readyLimitMs?: number;
  /** Time between SIGTERM and SIGKILL in `stop`. Default: 10 s. */
  readonly stopGraceMs?: number;
  /** Called with each line that the process prints. */
  readonly onLine?: (line: string, stream: 'stdout' | 'stderr') => void;
}

export interface NodeProcess<T> {
  readonly name: string;
  readonly pid: number;
  /** The result of `readyWhen`; undefined without `readyWhen`. */
  readonly ready: T | undefined;
  /** Resolves with the exit code when the process ends, expectedly or not. */
  readonly exited: Promise<number>;
  /** Returns the last lines that it printed. */
  tail(count?: number): string;
  signal(signal: NodeJS.Signals): void;
  /** Sends SIGTERM, then SIGKILL after the grace period. */
  stop(): Promise<void>;
}

/**
 * Runs `script` with this Node version and waits until it is ready. Throws, with the last printed lines, if the process
 * ends or does not become ready in time.
 */
export async function startNode<T>(script: string, options: NodeOptions<T>): Promise<NodeProcess<T>> {
  let found: (value: T) => void = () => undefined;
  const line = new Promise<T>((resolve) => {
    found = resolve;
  });
  const child = await GuardedProcess.start({
    name: options.name,
    command: process.execPath,
    args: [script, ...(options.args ?? [])],
    env: { ...process.env, ...options.env },
    cwd: process.cwd(),
    abandonSignal: 'KILL',
    onLine: (text, stream) => {
      options.onLine?.(text, stream);
      if (stream !== 'stdout') return;
      const value = options.readyWhen?.(text);
      if (value !== undefined) found(value);
    },
  });
  let ready: T | undefined;
  if (options.readyWhen !== undefined) {
    const ended = child.exited.then((code) => {
      throw new Error(`${options.name} ended with code ${code} before it was ready`);
    });
    try {
      ready = await limited(
        Promise.race([line, ended]),
        options.readyLimitMs ?? READY_LIMIT_MS,
        `${options.name} becoming ready`,
      );
    } catch (error) {
      const tail = child.tail();
      await child.stop('SIGKILL', 0);
      throw new Error(`${(error as Error).message}. Its last lines:\n${tail}`, { cause: error });
    }
  }
  return {
    name: options.name,
    pid: child.pid,
    ready,
    exited: child.exited,
    tail: (count) => child.tail(count),
    signal: (signal) => {
      child.signal(signal);
    },
    stop: () => child.stop('SIGTERM', options.stopGraceMs ?? STOP_GRACE_MS),
  };
}
