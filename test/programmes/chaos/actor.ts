// A supervised service process that chaos kills, stops and arms with crash points.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { sleep } from '../../../src/platform/support/clock.js';
import type { LocalService } from '../../../packages/local/src/local-service.js';

export type ServiceProcess = Awaited<ReturnType<LocalService['startWorker']>>;

const KILLED = 137;
const run = promisify(execFile);

/** Restarts its process whenever the process ends. */
export class Actor {
  private service: ServiceProcess | undefined;
  private next: NodeJS.ProcessEnv = {};
  private isWanted = true;
  private loop: Promise<void> = Promise.resolve();
  /** Deaths by SIGKILL while a crash point was armed. */
  deathsAtPoint = 0;
  private hasPoint = false;
  private hasSpecial = false;
  private mustBePlain = false;

  constructor(
    readonly name: string,
    private readonly begin: (env: NodeJS.ProcessEnv) => Promise<ServiceProcess>,
    private readonly forget: (service: ServiceProcess) => void,
    private readonly log: (who: string, line: string) => void,
  ) {}

  start(): void {
    this.loop = this.keepRunning();
  }

  signal(signal: NodeJS.Signals): boolean {
    this.service?.signal(signal);
    return this.service !== undefined;
  }

  /** Returns true if the process is stopped by SIGSTOP. */
  async isStopped(): Promise<boolean> {
    if (this.service === undefined) return false;
    const asked = run('ps', ['-o', 'state=', '-p', this.service.pid.toString()]);
    return asked.then(
      ({ stdout }) => stdout.trim().startsWith('T'),
      () => false,
    );
  }

  /** Kills the process and restarts it once with these settings. */
  restart(env: NodeJS.ProcessEnv): void {
    this.next = env;
    this.service?.signal('SIGKILL');
    this.service = undefined;
  }

  /** Replaces the process as a deployment does. Returns true if another one came up within `limitMs`. */
  async replace(limitMs: number): Promise<boolean> {
    const old = this.service;
    old?.signal('SIGTERM');
    for (let waitedMs = 0; waitedMs < limitMs && this.service === old; waitedMs += 100) await sleep(100);
    return this.service !== old && (await this.comesUp(limitMs));
  }

  /** Removes armed crash points and clock shifts: a process that has any is killed, so that a plain one starts. */
  heal(): void {
    this.next = {};
    this.mustBePlain = true;
    this.signal('SIGCONT');
    if (this.hasSpecial) this.service?.signal('SIGKILL');
  }

  /** Returns true if the process came up within `limitMs`, with its additional settings. */
  async comesUp(limitMs: number): Promise<boolean> {
    for (let waitedMs = 0; waitedMs < limitMs; waitedMs += 100) {
      if (this.service !== undefined) return true;
      await sleep(100);
    }
    return false;
  }

  async stop(): Promise<void> {
    this.isWanted = false;
    this.signal('SIGCONT');
    await this.service?.stop();
    await this.loop;
  }

  /** True if `stop` or `heal` was called while the process was starting. */
  private isUnwanted(): boolean {
    return !this.isWanted || (this.mustBePlain && this.hasSpecial);
  }

  private async keepRunning(): Promise<void> {
    while (this.isWanted) {
      const env = this.next;
      this.next = {};
      this.hasPoint = env['CRASH_AT'] !== undefined;
      this.hasSpecial = Object.keys(env).length > 0;
      try {
        this.mustBePlain = false;
        const service = await this.begin(env);
        if (this.isUnwanted()) service.signal('SIGKILL');
        else this.service = service;
        this.log(this.name, `running, pid ${service.pid.toString()} ${JSON.stringify(env)}`);
        const code = await service.exited;
        if (this.service === service) this.service = undefined;
        this.forget(service);
        this.log(this.name, `ended with code ${code.toString()}`);
        if (code === KILLED && this.hasPoint) this.deathsAtPoint += 1;
      } catch (error) {
        // The process reached its crash point before it was ready, or a server it needs is down.
        const text = String(error);
        if (text.includes(`code ${KILLED.toString()}`) && this.hasPoint) this.deathsAtPoint += 1;
        this.log(this.name, `did not start: ${text.slice(0, 600)}`);
        await sleep(500);
      }
    }
  }
}
