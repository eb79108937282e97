/**
 * The demo: a whole service on this machine with one command, a rental from quote to reclaim, and then a running
 * service to play with. Everything it starts ends with it. `--once` ends after the scenario; `--json FILE` says where
 * everything is.
 */
import { rename, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { reasonOf } from '../../../src/domain/errors.js';
import { DemoReceiver } from './demo-receiver.js';
import { DemoScenario, arrivalText } from './demo-scenario.js';
import { Merchant } from './merchant.js';
import { freePort } from './ports.js';
import { Screen } from './screen.js';
import { localDepositXpub, World } from './world.js';

const FIRST_CREDITS = 1_000_000_000;
/** Where the documents have a merchant's own receiver listen. */
const TRIED_PORTS = [4000];
const HELP = `npm run demo -- [--once] [--json FILE] [--block-ms N]

  --once        end after the demonstration: exit 0, or 1 if any step failed
  --json FILE   write where everything is, once it serves
  --block-ms N  real milliseconds per block of 3 s chain time (300)

  DATABASE_URL and REDIS_URL, when set, are used instead of embedded servers;
  PORT is the API's port (3000).
`;

interface DemoOptions {
  readonly once: boolean;
  readonly json: string | undefined;
  readonly blockMs: number;
}

function readOptions(): DemoOptions | undefined {
  const { values } = parseArgs({
    options: {
      once: { type: 'boolean', default: false },
      json: { type: 'string' },
      'block-ms': { type: 'string', default: '300' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const blockMs = /^\d{2,5}$/.test(values['block-ms']) ? Number.parseInt(values['block-ms'], 10) : 0;
  if (blockMs < 50) throw new Error('--block-ms takes 50 to 99999');
  return { once: values.once, json: values.json, blockMs };
}

async function portFor(): Promise<number> {
  const asked = process.env['PORT'];
  if (asked !== undefined && /^\d{1,5}$/.test(asked) && asked !== '0') return Number.parseInt(asked, 10);
  return freePort();
}

async function serve(world: World, screen: Screen): Promise<Merchant> {
  const project = await world.cli('project', 'create', '--name', 'Demo merchant', '--credits', String(FIRST_CREDITS));
  screen.step('a project with credits, made by the operator’s CLI');
  const [api] = await Promise.all([
    world.startApi(await portFor()),
    world.startWorker(),
    world.startSender(),
    world.cli('deposits', 'use-account'),
  ]);
  screen.step(`the API serves at ${api.baseUrl}; worker and sender work beside it`);
  return new Merchant(api.baseUrl, String(project['merchant']), String(project['api_key']));
}

function whereEverythingIs(world: World, merchant: Merchant): string {
  return `${JSON.stringify(
    {
      pid: process.pid,
      master_key: world.masterKey,
      base_url: merchant.baseUrl,
      merchant: merchant.id,
      api_key: merchant.apiKey,
      database_url: world.databaseUrl,
      redis_url: world.redisUrl,
      tron_full_node_url: world.fullUrls[0],
      tron_solidity_node_url: world.solidUrls[0],
      devnet_control_url: world.controlUrl,
      token_contract: world.token,
      pool_wallet: world.poolWallets[0]?.address,
      accounts: world.accounts.map(({ address, privateKey }) => ({ address, private_key: privateKey.toString('hex') })),
    },
    null,
    2,
  )}\n`;
}

/** A reader that waits for the file never sees half of it. */
async function writeWhole(file: string, content: string): Promise<void> {
  const draft = `${file}.${process.pid}.tmp`;
  await writeFile(draft, content, { mode: 0o600 });
  await rename(draft, file);
}

function showHowToGoOn(world: World, merchant: Merchant, screen: Screen): void {
  screen.title('It is yours now');
  screen.plain(`  Merchant ID   ${merchant.id}`);
  screen.plain(`  API key       ${merchant.apiKey}`);
  screen.plain(`  Base URL      ${merchant.baseUrl}  (docs at /docs)`);
  screen.plain(`  TRON node     ${world.fullUrls[0] ?? ''}`);
  screen.plain('\n  A signed quote to paste:\n');
  screen.plain(merchant.curl('/v1/quotes', { receive_address: world.accounts[2]?.address, duration_sec: 600 }));
  screen.plain('\n  Its events on a server of your own:\n');
  screen.plain(`export BASE_URL=${merchant.baseUrl}`);
  screen.plain(`export MERCHANT=${merchant.id}`);
  screen.plain(`export API_KEY=${merchant.apiKey}`);
  screen.plain('npm run -s cli -- listen --forward-to http://localhost:4000/hooks');
  screen.plain('\n  Ctrl-C ends everything; until then events show here as they arrive.');
}

async function main(): Promise<number> {
  const options = readOptions();
  if (options === undefined) {
    console.log(HELP);
    return 0;
  }
  let isServing = false;
  const interrupted = new Promise<void>((resolve) => {
    const end = (): void => {
      // Whatever has been started by then ends with us: each part has a guard of its own.
      if (!isServing) process.exit(1);
      resolve();
    };
    process.on('SIGINT', end);
    process.on('SIGTERM', end);
  });
  const screen = new Screen();
  screen.title('Starting Postgres, Redis, a local TRON chain, API, worker and sender');
  screen.plain('(left: seconds since the start, then the time of the chain: 3 s a block)');
  const receiver = await DemoReceiver.start('order.delivered');
  const world = await World.start({
    blockMs: options.blockMs,
    solidLag: 19,
    durable: true,
    databaseUrl: process.env['DATABASE_URL'],
    redisUrl: process.env['REDIS_URL'],
    // A webhook may go to this machine, and without TLS: of services that others reach neither is right.
    env: {
      DEPOSIT_XPUB: localDepositXpub(),
      WEBHOOK_ALLOW_HTTP: 'true',
      WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
      WEBHOOK_PORTS: [receiver.port, ...TRIED_PORTS].join(','),
    },
    onStep: (what) => {
      screen.step(what);
    },
    onLine: (name, line) => {
      if (/"level":"(error|fatal)"/.test(line)) screen.failure(`${name}: ${line.slice(0, 400)}`);
    },
  });
  isServing = true;
  // Holds the process: everything else it waits for belongs to children.
  const hold = setInterval(() => undefined, 60_000);
  try {
    const merchant = await serve(world, screen);
    if (options.json !== undefined) await writeWhole(options.json, whereEverythingIs(world, merchant));
    const scenario = new DemoScenario(world, merchant, receiver, screen).run().then(() => 'done' as const);
    if ((await Promise.race([scenario, interrupted])) === undefined) return options.once ? 1 : 0;
    if (options.once) return 0;
    showHowToGoOn(world, merchant, screen);
    receiver.onArrival = (arrival) => screen.arrived(`${arrival.type}  ${arrivalText(arrival)}`);
    await interrupted;
    return 0;
  } catch (error) {
    screen.failure(error instanceof Error ? error.message : String(error));
    return 1;
  } finally {
    await world.stop();
    receiver.close();
    clearInterval(hold);
  }
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(`demo: ${reasonOf(error)}; --help lists the options.`);
    process.exit(1);
  },
);
