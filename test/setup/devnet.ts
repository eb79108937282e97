// A local chain for one test file. It runs in its own process: tests and the code under test reach it only over HTTP.
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startNode } from '../../packages/local/src/processes.js';

/** The built local chain; a planted bug names a build with the bug. */
const SCRIPT =
  process.env['DEVNET_PROGRAM'] ?? fileURLToPath(new URL('../../packages/devnet/dist/main.devnet.js', import.meta.url));
const CONTROL_LIMIT_MS = 30_000;

export interface Genesis {
  /** The version of java-tron that the chain behaves like; default: the newest. */
  readonly version?: string;
  /** Time of block 1, ms. */
  readonly timestamp?: number;
  /** Balances in sun. */
  readonly accounts: readonly { readonly address: string; readonly balance: number | string }[];
  readonly parameters?: Readonly<Record<string, number>>;
  readonly contracts?: readonly object[];
  /** TRC10 tokens. */
  readonly assets?: readonly object[];
}

type SaveInternal = 'all' | 'transfers' | 'none';

export interface DevnetOptions {
  readonly genesis: Genesis;
  /** Real time between blocks, default 100. With 0 the chain makes a block only on `control('mine')`. */
  readonly blockMs?: number;
  /** Blocks by which the solid head lags, default 1, so that tests reach finality soon. */
  readonly solidLag?: number;
  readonly seed?: string;
  /** A second node of the same chain. */
  readonly second?: { readonly behind: number; readonly solidLag: number; readonly saveInternal?: SaveInternal };
  /** The internal transactions that the node keeps, default all. */
  readonly saveInternal?: SaveInternal;
  /** Time of a constant call, ms; default: that of a transaction. */
  readonly constantCallTimeoutMs?: number;
  /** Fixed ports, for a chain that restarts at the same address. Default: free ports. */
  readonly ports?: { readonly full: number; readonly solid: number };
  /** The chain loads this file if it exists, and writes its state there when it ends. */
  readonly stateFile?: string;
}

interface Ready {
  readonly full: string;
  readonly solid: string;
  readonly control: string;
  readonly second?: { readonly full: string; readonly solid: string };
}

export interface Devnet {
  /** http://127.0.0.1:N, before /wallet/… */
  readonly fullUrl: string;
  /** http://127.0.0.1:N, before /walletsolidity/… */
  readonly solidUrl: string;
  readonly controlUrl: string;
  readonly second: { readonly fullUrl: string; readonly solidUrl: string } | undefined;
  readonly pid: number;
  /** Sends a control action to the chain (mine, fork, parameters, …) and returns its answer. */
  readonly control: (action: string, body?: object) => Promise<Record<string, unknown>>;
  /** For tests that pause or kill the chain. */
  signal(signal: NodeJS.Signals): void;
  /** The last lines of its output. */
  tail(): string;
  readonly stop: () => Promise<void>;
}

/** Starts a chain and returns once every port listens. Needs a build. */
export async function startDevnet(options: DevnetOptions): Promise<Devnet> {
  if (!existsSync(SCRIPT)) throw new Error('the local chain is not built: run npm run build');
  const dir = await mkdtemp(join(tmpdir(), 'energy-devnet-'));
  try {
    const genesisFile = join(dir, 'genesis.json');
    await writeFile(genesisFile, JSON.stringify(options.genesis));
    const node = await startNode<Ready>(SCRIPT, {
      name: 'devnet',
      args: ['--genesis', genesisFile, ...flags(options)],
      readyWhen: (line) => (line.startsWith('{') ? (JSON.parse(line) as Ready) : undefined),
    });
    const { full, solid, control, second } = node.ready!;
    return {
      fullUrl: full,
      solidUrl: solid,
      controlUrl: control,
      second: second && { fullUrl: second.full, solidUrl: second.solid },
      pid: node.pid,
      control: (action, body = {}) => ask(`${control}/${action}`, body),
      signal: (signal) => {
        node.signal(signal);
      },
      tail: () => node.tail(),
      stop: async () => {
        await node.stop();
        await rm(dir, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await rm(dir, { recursive: true, force: true });
    throw error;
  }
}

function flags(options: DevnetOptions): string[] {
  const { blockMs = 100, solidLag = 1, ports = { full: 0, solid: 0 }, second, seed, stateFile } = options;
  const values: Record<string, number | string | undefined> = {
    'full-port': ports.full,
    'solid-port': ports.solid,
    'control-port': 0,
    'block-ms': blockMs,
    'solid-lag': solidLag,
    seed,
    state: stateFile,
    'second-full-port': second && 0,
    'second-solid-port': second && 0,
    'second-behind': second?.behind,
    'second-solid-lag': second?.solidLag,
    'save-internal': options.saveInternal,
    'constant-call-timeout-ms': options.constantCallTimeoutMs,
    'second-save-internal': second?.saveInternal,
  };
  return Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, String(value)]));
}

async function ask(url: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(url, {
    method: 'POST',
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(CONTROL_LIMIT_MS),
  });
  const answer = (await response.json()) as Record<string, unknown>;
  // The chain answers 200 to a request that it refuses, with the reason in `Error`.
  if ('Error' in answer) throw new Error(`${url}: ${String(answer['Error'])}`);
  return answer;
}
