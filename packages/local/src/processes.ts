// Starts our own Node processes (API, worker, local chain) so that they end when we do.
import { GuardedProcess } from './guard.js';
import { limited } from './wait.js';

const READY_LIMIT_MS = 30_000;
const STOP_GRACE_MS = 10_000;

export interface NodeOptions<T> {
  /** Used in messages. */
  readonly name: string;
  readonly args?: readonly string[];
  /** Laid over our own environment; an undefined value takes a variable away. */
  readonly env?: NodeJS.ProcessEnv;
  /** Judges each line of stdout; the first answer other than undefined means ready. */
  readonly readyWhen?: (line: string) => T | undefined;
  /** 30 s unless said. */
  readonly readyLimitMs?: number;
  /** How long `stop` asks before it insists; 10 s unless said. */
  readonly stopGraceMs?: number;
  /** Called with each line the process prints. */
  readonly onLine?: (line: string, stream: 'stdout' | 'stderr') => void;
}

export interface NodeProcess<T> {
  readonly name: string;
  readonly pid: number;
  /** What `readyWhen` found; undefined without `readyWhen`. */
  readonly ready: T | undefined;
  /** Resolves with the exit code when the process ends, wanted or not. */
  readonly exited: Promise<number>;
  /** The last lines it printed. */
  tail(count?: number): string;
  signal(signal: NodeJS.Signals): void;
  /** SIGTERM, then SIGKILL after the grace. */
  stop(): Promise<void>;
}

/**
 * Runs `script` with our Node and waits until it is ready. A process that ends or stays silent before that
 * is an error which shows the last lines it printed.
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
