/**
 * The demo: starts the whole service on this machine with a month of history, shows a rental from quote to reclaim, and
 * keeps the service and both consoles running. All processes end with the demo. `--once` ends it after the scenario.
 * `--json FILE` writes the addresses and credentials, `--env FILE` the settings of the CLI.
 */
import { access, constants, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { EnergyClient } from '../../sdk/src/index.js';
import { reasonOf } from '../../../src/domain/errors.js';
import { newChainAccount } from './chain-account.js';
import { demoDeposits, PAST_ACCOUNTS } from './demo-chain.js';
import { DemoConsoles, LINK_PURPOSES, type LinkPurpose } from './demo-consoles.js';
import { HISTORY_DAYS, makeHistory, untilNumbered } from './demo-history.js';
import { DAY_MS, PROFILES } from './demo-plan.js';
import { DemoReceiver } from './demo-receiver.js';
import { DemoScenario, arrivalText, type Actors } from './demo-scenario.js';
import { Merchant } from './merchant.js';
import { freePort, isFree } from './ports.js';
import { Screen } from './screen.js';
import { LocalService } from './local-service.js';

/** Large enough that most of the stake is always free. */
const POOL_STAKES_TRX = [1_200_000, 600_000];
/** At this total stake, one TRX yields about two bytes a day. */
const OTHERS_BANDWIDTH_TRX = 20_000_000_000;
/** Bandwidth that each pool wallet keeps of about 430 000 units a day for its own transactions; it sells the rest. */
const BANDWIDTH_KEPT = 200_000;
const BANDWIDTH_PRICE_SUN = 700;
const BANDWIDTH_SEC_MAX = 3600;
/** Accounts for the scenario only: users of `accounts` from --json do not disturb it. */
const ACTORS = ['dora', 'emil', 'frank'];
/** Retries of a request, within its time limit, while the service starts up. */
const START_RETRIES = 100;
/** Port of the API in the documents. */
const USUAL_PORT = 3000;
/** Port at which the documents let a merchant's own receiver listen. */
const TRIED_PORTS = [4000];
const HELP = `npm run demo -- [--once] [--env FILE] [--json FILE] [--block-ms N]

  --once        exit after the demonstration, with code 1 if a step failed
  --env FILE    write the settings for the CLI to FILE once the service runs:
                set -a; . FILE; set +a; npm run -s cli -- doctor
  --json FILE   write all addresses and keys to FILE once the service runs
  --block-ms N  real milliseconds per block of 3 s chain time (default: 300)

  DATABASE_URL and REDIS_URL, if set, replace the embedded servers; PORT is the
  API's port (default: 3000, or a free one where another program has it).
`;

interface DemoOptions {
  readonly once: boolean;
  readonly env: string | undefined;
  readonly json: string | undefined;
  readonly blockMs: number;
}

function readOptions(): DemoOptions | undefined {
  const { values } = parseArgs({
    options: {
      once: { type: 'boolean', default: false },
      env: { type: 'string' },
      json: { type: 'string' },
      'block-ms': { type: 'string', default: '300' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const blockMs = /^\d{2,5}$/.test(values['block-ms']) ? Number.parseInt(values['block-ms'], 10) : 0;
  if (blockMs < 50) throw new Error('--block-ms must be from 50 to 99999');
  return { once: values.once, env: values.env, json: values.json, blockMs };
}

async function portFor(): Promise<number> {
  const { PORT: asked } = process.env;
  if (asked === undefined) return (await isFree(USUAL_PORT)) ? USUAL_PORT : freePort();
  return /^[1-9]\d{0,4}$/.test(asked) ? Number.parseInt(asked, 10) : freePort();
}

interface Served {
  readonly merchant: Merchant;
  /** Projects owned by the console's merchant account. */
  readonly projects: readonly string[];
}

async function serve(service: LocalService, screen: Screen): Promise<Served> {
  const [profile] = PROFILES;
  const project = await service.cli('project', 'create', '--name', profile?.name ?? '');
  screen.step('a project, created with the operator’s CLI');
  await service.cli(
    ...['price', 'set-bandwidth', '--duration-max', BANDWIDTH_SEC_MAX.toString()],
    ...['--sun-per-bandwidth', BANDWIDTH_PRICE_SUN.toString()],
  );
  const merchantId = String(project['merchant']);
  const [{ projects, orders, transactions }, api] = await Promise.all([
    makeHistory(service, merchantId),
    service.startApi(await portFor()),
    service.startSender(),
  ]);
  screen.step(
    `a month of history: ${orders.toString()} orders of ${projects.length.toString()} projects, ` +
      `${transactions.toString()} transactions on the chain`,
  );
  await service.startWorker();
  await untilNumbered(service);
  screen.step(`the API is listening at ${api.baseUrl}; worker and sender run beside it`);
  const merchant = new Merchant(api.baseUrl, merchantId, String(project['api_key']));
  return { merchant, projects: projects.filter((_, place) => isOfOwner(place)) };
}

/** The first project, and the test project. */
const isOfOwner = (place: number): boolean => place === 0 || PROFILES[place]?.isTest === true;

/**
 * Returns undefined with a given database: the merchants' console needs a login of its own, which only the database's
 * owner can create.
 */
async function openConsoles(
  service: LocalService,
  apiUrl: string,
  projects: readonly string[],
  screen: Screen,
): Promise<DemoConsoles | undefined> {
  if (process.env['DATABASE_URL'] !== undefined) {
    screen.step(
      'no consoles: they need logins of their own, which the demo creates only in its own database (docs/console.md)',
    );
    return undefined;
  }
  const consoles = await DemoConsoles.start(service, { API_URL: apiUrl });
  await consoles.signUp(projects);
  screen.step('both consoles are running, for merchants and for operators, each with an account');
  return consoles;
}

function whereEverythingIs(service: LocalService, merchant: Merchant): string {
  return `${JSON.stringify(
    {
      pid: process.pid,
      master_key: service.masterKey,
      base_url: merchant.baseUrl,
      merchant: merchant.id,
      api_key: merchant.apiKey,
      database_url: service.databaseUrl,
      redis_url: service.redisUrl,
      tron_full_node_url: service.fullUrls[0],
      tron_solidity_node_url: service.solidUrls[0],
      devnet_control_url: service.controlUrl,
      token_contract: service.token,
      pool_wallet: service.poolWallets[0]?.address,
      accounts: service.accounts.map(({ address, privateKey }) => ({
        address,
        private_key: privateKey.toString('hex'),
      })),
    },
    null,
    2,
  )}\n`;
}

/** Returns the settings of the operator's commands, and of `listen` for the demo's project, for a shell to read. */
function settingsOfCommands(service: LocalService, { baseUrl, id, apiKey }: Merchant): string {
  const settings: NodeJS.ProcessEnv = { ...service.commandEnv, BASE_URL: baseUrl, MERCHANT: id, API_KEY: apiKey };
  return Object.entries(settings)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}='${value.replaceAll("'", String.raw`'\''`)}'\n`]))
    .join('');
}

/** Writes atomically: a waiting reader never sees a partial file. */
async function writeWhole(file: string, content: string): Promise<void> {
  const draft = `${file}.${process.pid}.tmp`;
  await writeFile(draft, content, { mode: 0o600 });
  await rename(draft, file);
}

const PAID_BY_LINK = 25_000_000n;

const LINK_NAMES: Readonly<Record<LinkPurpose, string>> = {
  merchant: 'merchants’ console, as the owner of a project',
  operator: 'operators’ console, as an admin',
  payment: 'pay 25 USDT to the project on chain, and open the page where the deposit arrives',
};
const WAS_OPENED: Readonly<Record<LinkPurpose, string>> = {
  merchant: 'signed in to the merchants’ console',
  operator: 'signed in to the operators’ console',
  payment: 'a payment of 25 USDT is on its way',
};

/** Shows one-time links, and a replacement whenever one was opened. */
function showConsoles(consoles: DemoConsoles, scenario: DemoScenario, screen: Screen): void {
  screen.title('The consoles in your browser (each link works once, within an hour):');
  for (const purpose of LINK_PURPOSES) {
    screen.plain(`  ${LINK_NAMES[purpose]}\n    ${consoles.link(purpose)}`);
  }
  consoles.onLink = (purpose, link, wasUsed) => {
    void scenario
      .happened(`${wasUsed ? WAS_OPENED[purpose] : 'that link had expired'}; the next link:`)
      .then(() => screen.plain(`    ${link}`));
  };
}

function showHowToGoOn(service: LocalService, merchant: Merchant, screen: Screen): void {
  screen.title('Use it yourself');
  screen.plain(`  Merchant ID   ${merchant.id}`);
  screen.plain(`  API key       ${merchant.apiKey}`);
  screen.plain(`  Base URL      ${merchant.baseUrl}  (docs at /docs)`);
  screen.plain(`  TRON node     ${service.fullUrls[0] ?? ''}`);
  screen.plain('\n  A signed quote request to paste:\n');
  screen.plain(merchant.curl('/v1/quotes', { receive_address: service.accounts[2]?.address, duration_sec: 600 }));
  screen.plain('\n  For your own programs (docs/first-order.md), with events on your own server:\n');
  screen.plain(`export BASE_URL=${merchant.baseUrl}`);
  screen.plain(`export MERCHANT=${merchant.id}`);
  screen.plain(`export API_KEY=${merchant.apiKey}`);
  screen.plain(`export RECEIVER=${service.accounts[2]?.address ?? ''}`);
  screen.plain(`export NEW_WALLET=${newChainAccount().address}`);
  screen.plain('npm run -s cli -- listen --forward-to http://localhost:4000/hooks');
}

function actorsOf(service: LocalService): Actors {
  const [sender, recipient, treasury] = service.moreAccounts;
  if (sender === undefined || recipient === undefined || treasury === undefined)
    throw new Error('accounts are missing');
  return { sender, recipient, treasury };
}

/** Returns `shown`, or the reason for a failed step. */
async function outcomeOf(run: Promise<void>): Promise<'shown' | { readonly reason: string }> {
  try {
    await run;
    return 'shown';
  } catch (error) {
    return { reason: reasonOf(error) };
  }
}

async function startLocalService(options: DemoOptions, receiver: DemoReceiver, screen: Screen): Promise<LocalService> {
  return LocalService.start({
    blockMs: options.blockMs,
    solidLag: 19,
    durable: true,
    poolStakesTrx: POOL_STAKES_TRX,
    bandwidthTrx: OTHERS_BANDWIDTH_TRX,
    past: { fromMs: Date.now() - HISTORY_DAYS * DAY_MS, accounts: PAST_ACCOUNTS },
    moreAccounts: ACTORS,
    databaseUrl: process.env['DATABASE_URL'],
    redisUrl: process.env['REDIS_URL'],
    // Allows webhooks to this machine and without TLS. Neither is acceptable for a public service.
    env: {
      ...demoDeposits(),
      POOL_BANDWIDTH_KEPT: BANDWIDTH_KEPT.toString(),
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
      // All processes started so far end with this one: each has a guard.
      if (!isServing) process.exit(1);
      resolve();
    };
    process.on('SIGINT', end);
    process.on('SIGTERM', end);
  });
  // Refused now, not after the minutes of a start.
  for (const file of [options.env, options.json]) if (file !== undefined) await access(dirname(file), constants.W_OK);
  const screen = new Screen();
  screen.title('Starting Postgres, Redis, a local TRON chain, API, worker and sender');
  screen.plain('(left: seconds since the start, then the time of the chain: 3 s a block)');
  const receiver = await DemoReceiver.start('order.delivered');
  const service = await startLocalService(options, receiver, screen);
  isServing = true;
  // Keeps the process alive: the children's handles do not.
  const hold = setInterval(() => undefined, 60_000);
  let consoles: DemoConsoles | undefined;
  try {
    const ended = options.once ? 1 : 0;
    const served = await Promise.race([serve(service, screen), interrupted]);
    if (served === undefined) return ended;
    const { merchant, projects } = served;
    if (options.env !== undefined) await writeWhole(options.env, settingsOfCommands(service, merchant));
    if (options.json !== undefined) await writeWhole(options.json, whereEverythingIs(service, merchant));
    const { baseUrl, id, apiKey } = merchant;
    const client = new EnergyClient({ baseUrl, merchant: id, apiKey, retries: START_RETRIES });
    const meanwhile = async (): Promise<void> => {
      consoles = await openConsoles(service, baseUrl, projects, screen);
    };
    const scenario = new DemoScenario(service, actorsOf(service), client, receiver, screen);
    const outcome = await Promise.race([outcomeOf(scenario.run(meanwhile)), interrupted]);
    if (outcome === undefined) return ended;
    if (outcome !== 'shown') screen.failure(outcome.reason);
    if (options.once) return outcome === 'shown' ? 0 : 1;
    if (outcome !== 'shown') screen.plain('\n  The demonstration stopped at this step; the service keeps running.');
    if (consoles === undefined) await meanwhile();
    showHowToGoOn(service, merchant, screen);
    if (consoles !== undefined) {
      consoles.payment = { project: id, pay: () => scenario.payIn(PAID_BY_LINK).then(() => undefined) };
      showConsoles(consoles, scenario, screen);
    }
    screen.plain('\n  Press Ctrl-C to stop everything. Until then, events appear here.');
    receiver.onArrival = (arrival) => void scenario.happened(`${arrival.type}  ${arrivalText(arrival)}`);
    await interrupted;
    return 0;
  } catch (error) {
    screen.failure(error instanceof Error ? error.message : String(error));
    return 1;
  } finally {
    consoles?.close();
    await service.stop();
    receiver.close();
    clearInterval(hold);
  }
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(`demo: ${reasonOf(error)}. --help lists the options.`);
    process.exit(1);
  },
);
