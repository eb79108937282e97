// A process of the service that chaos kills, stops and arms, and that comes up again.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { sleep } from '../../src/base/clock.js';
import type { World } from '../../packages/local/src/world.js';

export type Service = Awaited<ReturnType<World['startWorker']>>;

const KILLED = 137;
const run = promisify(execFile);

/** A process that is started again whenever it ends. */
export class Actor {
  private service: Service | undefined;
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
    private readonly begin: (env: NodeJS.ProcessEnv) => Promise<Service>,
    private readonly forget: (service: Service) => void,
    private readonly log: (who: string, line: string) => void,
  ) {}

  start(): void {
    this.loop = this.keepRunning();
  }

  signal(signal: NodeJS.Signals): boolean {
    this.service?.signal(signal);
    return this.service !== undefined;
  }

  /** Whether it stands still after SIGSTOP. */
  async isStopped(): Promise<boolean> {
    if (this.service === undefined) return false;
    const asked = run('ps', ['-o', 'state=', '-p', this.service.pid.toString()]);
    return asked.then(
      ({ stdout }) => stdout.trim().startsWith('T'),
      () => false,
    );
  }

  /** Kills it, and starts it with these settings once. */
  restart(env: NodeJS.ProcessEnv): void {
    this.next = env;
    this.service?.signal('SIGKILL');
    this.service = undefined;
  }

  /** Ends it as a deployment does; whether another one came up in its place within `limitMs`. */
  async replace(limitMs: number): Promise<boolean> {
    const old = this.service;
    old?.signal('SIGTERM');
    for (let waitedMs = 0; waitedMs < limitMs && this.service === old; waitedMs += 100) await sleep(100);
    return this.service !== old && (await this.comesUp(limitMs));
  }

  /** Ends what was armed or shifted, so that a plain process comes up. */
  heal(): void {
    this.next = {};
    this.mustBePlain = true;
    this.signal('SIGCONT');
    if (this.hasSpecial) this.service?.signal('SIGKILL');
  }

  /** Whether it came up within `limitMs`, with what was laid over its settings. */
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

  /** Told to stop, or to be plain again, while it was starting. */
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
        // It came to its point before it could say that it works, or a server it needs is away.
        const text = String(error);
        if (text.includes(`code ${KILLED.toString()}`) && this.hasPoint) this.deathsAtPoint += 1;
        this.log(this.name, `did not start: ${text.slice(0, 600)}`);
        await sleep(500);
      }
    }
  }
}
