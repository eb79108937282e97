// API and worker processes from dist, as deployed: probes and metrics on a separate port, logs kept for the test.
import { startNode, type NodeProcess } from '../../../packages/local/src/processes.js';
import { keepSaid } from '../../setup/canary.js';
import { envAs } from '../../setup/roles.js';

/** One line of a process's log. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly msg?: string };

export interface ServiceProcess {
  /** `http://host:port` of its probes and metrics. */
  readonly adminUrl: string;
  /** The URL of the API. A worker has none. */
  readonly baseUrl: string;
  readonly process: NodeProcess<Ports>;
  readonly lines: readonly LogLine[];
}

interface Ports {
  readonly port: number;
  readonly adminPort: number;
}

const STARTED = { api: 'listening', worker: 'working' } as const;

/** Starts a process and waits until it logs that it runs. */
export async function startProcess(role: 'api' | 'worker', env: Record<string, string>): Promise<ServiceProcess> {
  const lines: LogLine[] = [];
  const child = await startNode<Ports>(`dist/bundle/main.${role}.js`, {
    name: `the ${role}`,
    env: { ...envAs(env, role), HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0', LOG_LEVEL: 'info' },
    stopGraceMs: 25_000,
    readyWhen: (text) => {
      const line = readLine(text);
      if (line === undefined) return undefined;
      lines.push(line);
      if (line.msg !== STARTED[role]) return undefined;
      const [admin, address] = [line['admin'], line['address']] as ({ port: number } | undefined)[];
      return admin === undefined ? undefined : { port: address?.port ?? 0, adminPort: admin.port };
    },
  });
  const { port, adminPort } = child.ready!;
  return {
    adminUrl: `http://127.0.0.1:${adminPort.toString()}`,
    baseUrl: `http://127.0.0.1:${port.toString()}`,
    process: child,
    lines,
  };
}

function readLine(text: string): LogLine | undefined {
  try {
    return JSON.parse(text) as LogLine;
  } catch {
    return undefined;
  }
}

/** Returns the status of a probe, or 0 without an answer. */
export async function probe(url: string): Promise<number> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2000) });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0;
  }
}

/** Reads a process's metrics as Prometheus would. */
export async function scrape({ adminUrl }: ServiceProcess): Promise<Scrape> {
  const response = await fetch(`${adminUrl}/metrics`, { signal: AbortSignal.timeout(5000) });
  const text = await response.text();
  keepSaid('metrics', text);
  return new Scrape(text);
}

export class Scrape {
  readonly names: ReadonlySet<string>;

  constructor(readonly text: string) {
    this.names = new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map((match) => match[1]!));
  }

  /** Returns the sum of all samples of `name` whose label text contains each of `labels`. */
  sum(name: string, ...labels: string[]): number {
    let total = 0;
    for (const line of this.text.split('\n')) {
      const match = /^([a-zA-Z_:]+)(\{[^}]*\})? (\S+)$/.exec(line);
      if (match?.[1] !== name || !labels.every((label) => match[2]?.includes(label))) continue;
      total += Number(match[3]);
    }
    return total;
  }
}
