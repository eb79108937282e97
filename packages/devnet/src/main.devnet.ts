// The local chain's process: parses options, listens, makes blocks, ends on SIGTERM or SIGINT. Prints one JSON line on
// stdout once every port listens. Errors go to stderr with exit code 1.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Chain, type ChainOptions, BLOCK_STEP_MS, UNDO_MIN } from './chain.js';
import { controlPort } from './control.js';
import { dumpChain, loadChain } from './dump.js';
import { endpoints } from './endpoints.js';
import { type Genesis, chainFrom, readGenesis } from './genesis.js';
import { Faults } from './faults.js';
import { Port } from './http.js';
import { NodeView, saveInternalOf } from './node-view.js';
import { versionAt } from './parameters.js';
import { runTokenCommand } from './token-command.js';

/** Time of block 1 for runs independent of the wall clock: 2026-01-01T00:00:00Z. */
const FIXED_START_MS = 1_767_225_600_000;

const HELP = `devnet: a local TRON chain

  --genesis FILE       accounts, parameters, contracts at the start; needed
                       unless --state names an existing file
  --full-port N        wallet/* (8090); of each port 0 = any free one
  --solid-port N       walletsolidity/* (8091)
  --control-port N     mine, fork, parameters, token, faults, dump (8092)
  --host ADDRESS       where to listen (127.0.0.1)
  --block-ms N         a block every N ms of real time, 3 s of chain time each
                       (3000); 0 = only when asked
  --solid-lag N        blocks the solid head is behind the head (19)
  --save-internal all|transfers|none
                       which internal transactions the node keeps (all)
  --constant-call-timeout-ms N
                       time of a constant call, counted in opcodes; 0 = that of
                       a transaction (0)
  --second-full-port N --second-solid-port N --second-behind N
  --second-solid-lag N --second-save-internal all|transfers|none
                       a second node of the same chain with its own head and lag
  --seed S             chooses witnesses and block ids (devnet)
  --pending-max N      SERVER_BUSY above so many pending transactions (2000)
  --state FILE         load the chain from FILE when it exists, and write it
                       there at the end

devnet token --help    what the owner of a token on a running chain can do
`;

const OPTIONS = {
  genesis: { type: 'string' },
  'full-port': { type: 'string', default: '8090' },
  'solid-port': { type: 'string', default: '8091' },
  'control-port': { type: 'string', default: '8092' },
  host: { type: 'string', default: '127.0.0.1' },
  'block-ms': { type: 'string', default: '3000' },
  'solid-lag': { type: 'string', default: '19' },
  'save-internal': { type: 'string', default: 'all' },
  'constant-call-timeout-ms': { type: 'string', default: '0' },
  'second-full-port': { type: 'string' },
  'second-solid-port': { type: 'string' },
  'second-behind': { type: 'string', default: '1' },
  'second-solid-lag': { type: 'string' },
  'second-save-internal': { type: 'string', default: 'all' },
  seed: { type: 'string' },
  'pending-max': { type: 'string', default: '2000' },
  state: { type: 'string' },
  help: { type: 'boolean' },
} as const;

class UsageError extends Error {}

function integer(name: string, given: string | undefined, max: number): number {
  if (given === undefined || !/^[0-9]{1,9}$/.test(given) || Number.parseInt(given, 10) > max)
    throw new UsageError(`--${name}: a whole number from 0 to ${String(max)} is needed, not ${String(given)}`);
  return Number.parseInt(given, 10);
}

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'];

interface Settings {
  readonly values: Values;
  readonly blockMs: number;
  readonly solidLag: number;
  readonly second: {
    readonly full: number;
    readonly solid: number;
    readonly behind: number;
    readonly lag: number;
  } | null;
}

function settingsFrom(args: readonly string[]): Settings {
  const { values } = parseArgs({ args: [...args], options: OPTIONS });
  const solidLag = integer('solid-lag', values['solid-lag'], 1_000);
  const second =
    values['second-full-port'] === undefined
      ? null
      : {
          full: integer('second-full-port', values['second-full-port'], 65_535),
          solid: integer('second-solid-port', values['second-solid-port'] ?? '0', 65_535),
          behind: integer('second-behind', values['second-behind'], 1_000),
          lag: integer('second-solid-lag', values['second-solid-lag'] ?? String(solidLag), 1_000),
        };
  return { values, blockMs: integer('block-ms', values['block-ms'], 3_600_000), solidLag, second };
}

/**
 * Returns the start of chain time: the genesis's timestamp, otherwise the wall clock. A repeatable run has a fixed
 * start.
 */
function startOf(settings: Settings, genesis: Genesis | null): { startMs: number; now: (() => number) | null } {
  const isRepeatable = settings.blockMs === 0 && settings.values.seed !== undefined;
  const at = genesis?.timestamp ?? (isRepeatable ? FIXED_START_MS : Date.now());
  return { startMs: Math.floor(at / BLOCK_STEP_MS) * BLOCK_STEP_MS, now: isRepeatable ? null : Date.now };
}

async function openChain(settings: Settings): Promise<Chain> {
  const { values } = settings;
  const saved = values.state !== undefined && existsSync(values.state) ? values.state : undefined;
  if (saved === undefined && values.genesis === undefined) throw new UsageError('--genesis FILE is needed');
  const genesis = values.genesis === undefined ? null : readGenesis(values.genesis);
  const { startMs, now } = startOf(settings, genesis);
  let built = 0;
  const reach = settings.solidLag + (settings.second === null ? 0 : settings.second.behind + settings.second.lag);
  const options: ChainOptions = {
    seed: values.seed ?? 'devnet',
    startMs,
    reach: Math.max(UNDO_MIN, reach + 1),
    pendingMax: integer('pending-max', values['pending-max'], 1_000_000),
    now: now ?? ((): number => startMs + built++),
  };
  if (saved !== undefined) return loadChain(readFileSync(saved, 'utf8'), options);
  if (genesis === null) throw new UsageError('--genesis FILE is needed');
  return chainFrom(genesis, options);
}

/**
 * Makes a block every `blockMs`. A late block is followed immediately, but never by two at a time. Returns a function
 * that stops it.
 */
function makeBlocks(chain: Chain, blockMs: number): () => void {
  if (blockMs === 0) return () => undefined;
  let isStopped = false;
  let timer: NodeJS.Timeout;
  let due = Date.now() + blockMs;
  const next = (): void => {
    chain
      .exclusively(() => chain.mine())
      .then(() => {
        due = Math.max(due + blockMs, Date.now() - blockMs);
        if (!isStopped) timer = setTimeout(next, Math.max(0, due - Date.now()));
      })
      .catch(fail);
  };
  timer = setTimeout(next, blockMs);
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

/** A failure of a running chain is a bug: prints the stack. */
function fail(error: unknown): void {
  process.stderr.write(`devnet: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(1);
}

/** Prints a start-up failure on one line with cause and remedy. */
function failStart(error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`devnet: ${message.replace(/\s+/g, ' ').replace(/\.$/, '')}; --help lists the options.\n`);
  process.exit(1);
}

/** Listens on a port. Throws UsageError that names the option to change. */
async function listenOn(port: Port, option: string, number: number, host: string): Promise<number> {
  try {
    return await port.listen(number, host);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EADDRINUSE') {
      throw new UsageError(
        `Another program already listens on port ${String(number)} of --${option}. Stop it, or choose another port`,
      );
    }
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
      throw new UsageError(`--host ${host} is no address of this machine`);
    }
    throw error;
  }
}

interface Served {
  readonly ports: readonly Port[];
  readonly line: Record<string, unknown>;
}

async function serve(settings: Settings, chain: Chain): Promise<Served> {
  const { values, second } = settings;
  const { host } = values;
  const saveInternal = saveInternalOf(values['save-internal']);
  const constantCallMs = integer('constant-call-timeout-ms', values['constant-call-timeout-ms'], 3_600_000);
  const node = new NodeView(chain, { behind: 0, solidLag: settings.solidLag, saveInternal, constantCallMs });
  const nodes = [node];
  const faults = new Faults(nodes);
  const ports: Port[] = [];
  const open = async (name: 'full' | 'solid', option: string, view: NodeView, port: number): Promise<string> => {
    const handlers = endpoints(view, name === 'solid');
    const intercept = faults.at(nodes.indexOf(view));
    const made = new Port(
      name,
      handlers,
      () => intercept,
      () => versionAt(chain.store),
    );
    ports.push(made);
    return `http://${host}:${String(await listenOn(made, option, port, host))}`;
  };
  const full = await open('full', 'full-port', node, integer('full-port', values['full-port'], 65_535));
  const solid = await open('solid', 'solid-port', node, integer('solid-port', values['solid-port'], 65_535));
  const line: Record<string, unknown> = { full, solid };
  if (second !== null) {
    const saved = saveInternalOf(values['second-save-internal']);
    const other = new NodeView(chain, {
      behind: second.behind,
      solidLag: second.lag,
      saveInternal: saved,
      constantCallMs,
    });
    nodes.push(other);
    line['second'] = {
      full: await open('full', 'second-full-port', other, second.full),
      solid: await open('solid', 'second-solid-port', other, second.solid),
    };
  }
  const control = controlPort({ chain, nodes, faults, dump: () => dumpChain(chain) });
  ports.push(control);
  const controlPortNumber = integer('control-port', values['control-port'], 65_535);
  const controlAt = await listenOn(control, 'control-port', controlPortNumber, host);
  return {
    ports,
    line: { ...line, control: `http://${host}:${String(controlAt)}`, chainId: chain.block(0).id, pid: process.pid },
  };
}

async function main(): Promise<void> {
  const args = process.argv.slice(2);
  if (args[0] === 'token') return runTokenCommand(args.slice(1));
  if (args.includes('--help')) {
    process.stdout.write(HELP);
    return;
  }
  // Installed from the start: process 1 ignores signals without a handler.
  let stop = (): void => process.exit(0);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop());
  const settings = settingsFrom(args);
  const chain = await openChain(settings);
  const { ports, line } = await serve(settings, chain);
  const stopBlocks = makeBlocks(chain, settings.blockMs);
  stop = (): void => {
    stop = (): void => undefined;
    stopBlocks();
    chain
      .exclusively(() => {
        if (settings.values.state !== undefined) writeFileSync(settings.values.state, dumpChain(chain));
      })
      .then(() => Promise.all(ports.map((p) => p.close())))
      .then(() => process.exit(0))
      .catch(fail);
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

main().catch(failStart);
