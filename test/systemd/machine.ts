// A Debian machine with systemd for tests of the units and of the page that installs them. See boot.sh.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GuardedProcess } from '../../packages/local/src/guard.js';
import { until } from '../../packages/local/src/wait.js';

const BOOT = fileURLToPath(new URL('boot.sh', import.meta.url));
const CHECKOUT = fileURLToPath(new URL('../../', import.meta.url));
const BOOT_LIMIT_MS = 60_000;
const ANSWER_LIMIT_MS = 150_000;
const COMMAND_LIMIT_MS = 420_000;

/** A file of each Debian package that the machine consists of. */
const NEEDED: Readonly<Record<string, string>> = {
  '/lib/systemd/systemd': 'systemd',
  '/usr/bin/unshare': 'util-linux',
  '/usr/bin/pg_createcluster': 'postgresql',
  '/usr/bin/redis-server': 'redis-server',
};

/** Returns why no machine can be started here; undefined if one can. */
export function whyNoMachine(more: Readonly<Record<string, string>> = {}): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'only root on Linux can start it';
  const missing = Object.entries({ ...NEEDED, ...more }).filter(([file]) => !existsSync(file));
  return missing.length === 0 ? undefined : `apt-get install ${missing.map(([, name]) => name).join(' ')}`;
}

export interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A running machine with its own network, so that the ports are those of the documentation. */
export class Machine {
  private constructor(
    private readonly guard: GuardedProcess,
    private readonly directory: string,
    private readonly pid: number,
  ) {}

  static async start(): Promise<Machine> {
    const directory = await mkdtemp(join(tmpdir(), 'energy-machine-'));
    await chmod(directory, 0o755);
    const guard = await GuardedProcess.start({
      name: 'systemd',
      command: BOOT,
      args: [directory, CHECKOUT, process.execPath],
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
      abandonSignal: 'KILL',
    });
    const found = async (): Promise<number | undefined> => {
      if (!guard.isRunning) throw new Error(`systemd ended at its start:\n${guard.tail()}`);
      return Promise.resolve(childOf(guard.pid));
    };
    try {
      const machine = new Machine(guard, directory, await until(found, BOOT_LIMIT_MS, 'systemd being process 1'));
      await machine.untilTrue('systemctl is-active machine.target', BOOT_LIMIT_MS);
      return machine;
    } catch (error) {
      await guard.stop('SIGKILL', 0);
      throw error;
    }
  }

  /** Runs shell lines as the machine's root. */
  async run(
    lines: string,
    options: { readonly input?: string; readonly env?: Record<string, string> } = {},
  ): Promise<Said> {
    const namespaces = ['-m', '-p', '-n', '-i', '-u', '-C', '-r', '-w'];
    const child = spawn(
      'nsenter',
      ['-t', this.pid.toString(), ...namespaces, 'bash', '--norc', '-c', `set -euo pipefail\n${lines}`],
      {
        env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8', ...options.env },
        timeout: COMMAND_LIMIT_MS,
      },
    );
    const said = { out: '', err: '' };
    child.stdout.on('data', (chunk) => (said.out += String(chunk)));
    child.stderr.on('data', (chunk) => (said.err += String(chunk)));
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input ?? '');
    const code = await new Promise<number>((done, failed) => {
      child.once('error', failed);
      child.once('close', (exit) => done(exit ?? -1));
    });
    return { code, ...said };
  }

  /** Runs lines that must succeed. Returns their output. */
  async must(
    lines: string,
    options: { readonly input?: string; readonly env?: Record<string, string> } = {},
  ): Promise<string> {
    const { code, out, err } = await this.run(lines, options);
    if (code !== 0) throw new Error(`${lines}\nended with ${code.toString()}:\n${out}${err}`);
    return out;
  }

  /** Waits until lines succeed. */
  async untilTrue(lines: string, limitMs = ANSWER_LIMIT_MS): Promise<void> {
    let last: Said | undefined;
    const succeeds = async (): Promise<true | undefined> => {
      last = await this.run(lines);
      return last.code === 0 ? true : undefined;
    };
    await until(succeeds, limitMs, lines, 500).catch((error: unknown) => {
      throw new Error(`${(error as Error).message}\n${last?.out ?? ''}${last?.err ?? ''}`, { cause: error });
    });
  }

  /** Returns the last journal lines of a unit, for failure messages. */
  async journal(unit: string): Promise<string> {
    return (await this.run(`journalctl --no-pager --output=cat --lines=40 --unit='${unit}'`)).out;
  }

  /** Ends all of its processes and removes its files. */
  async stop(): Promise<void> {
    await this.guard.stop('SIGKILL', 0);
    for (const groups of ['/sys/fs/cgroup', '/sys/fs/cgroup/systemd']) {
      await removeGroups(join(groups, basename(this.directory)));
    }
    await rm(this.directory, { recursive: true, force: true });
  }
}

function childOf(pid: number): number | undefined {
  try {
    const line = execFileSync('ps', ['--ppid', pid.toString(), '-o', 'pid=,comm='], { encoding: 'utf8' });
    const [child, command] = line.trim().split(/\s+/);
    return command === 'systemd' ? Number(child) : undefined;
  } catch {
    return undefined;
  }
}

/** A control group is removed like an empty folder, its children first. */
async function removeGroups(path: string): Promise<void> {
  if (!existsSync(path)) return;
  for (const each of await readdir(path, { withFileTypes: true })) {
    if (each.isDirectory()) await removeGroups(join(path, each.name));
  }
  await until(
    () =>
      rmdir(path).then(
        () => true as const,
        () => undefined,
      ),
    BOOT_LIMIT_MS,
    `removing ${path}`,
  );
}
