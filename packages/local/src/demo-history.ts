/**
 * A month of history for the demo: projects, ended and refunded orders, ledger, deposits, events and chain
 * transactions. The transactions are in blocks of the local chain, so `cli verify` finds nothing. The rows are written
 * as the database owner, in bulk and in one transaction, under the tables' guards. Two triggers that stamp the current
 * time are disabled meanwhile.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import pg from 'pg';
import { Sealer, sealKey } from '../../../src/platform/support/seal.js';
import { putOnChain, type PastOnChain } from './demo-chain.js';
import { DAY_MS, planOrders, PROFILES } from './demo-plan.js';
import { refusedRows, rowsOf, type Places, type Row } from './demo-rows.js';
import { timelineOf, type SaleTerms, type Timeline } from './demo-timeline.js';
import { until } from './wait.js';
import type { LocalService } from './local-service.js';

export const HISTORY_DAYS = 30;
const SEED = 20_260;
const SUN_PER_TRX = 1_000_000n;

/** Triggers that treat rows as written now: they count the charge as today's spending and write a current event. */
const RESTING = [['deposit', 'deposit_changed']] as const;

export interface DemoHistory {
  /** Project ids in the order of PROFILES. */
  readonly projects: readonly string[];
  readonly orders: number;
  readonly transactions: number;
}

/**
 * Creates the history of `first`, the demo's own project, and of the other projects, up to now. Runs before API and
 * worker start, on a service that began HISTORY_DAYS ago with PAST_ACCOUNTS.
 */
export async function makeHistory(service: LocalService, first: string, seed = SEED): Promise<DemoHistory> {
  const client = new pg.Client({ connectionString: service.databaseUrl });
  await client.connect();
  try {
    const startMs = await service.wallet.headTime();
    const projects = await addProjects(client, service, first);
    await service.cli('deposits', 'use-account');
    const endMs = Date.now();
    const times = { seed, startMs, endMs };
    const terms = await termsOf(client, service);
    const timeline = timelineOf(planOrders(seed, startMs, endMs), terms, times);
    const addresses = await depositAddressesOf(client, projects);
    const chain = await putOnChain(service, timeline, endMs, addresses);
    await client.query('BEGIN');
    const places = await placesOf(client, service, { timeline, projects, addresses });
    await write(client, { timeline, chain, places, terms }, times);
    await client.query('COMMIT');
    const { orders } = timeline;
    return { projects, orders: orders.length, transactions: chain.deliveries.size + chain.reclaims.size };
  } finally {
    await client.end();
  }
}

/** Waits until the worker has numbered every past event. A webhook created earlier would receive the remaining ones. */
export async function untilNumbered(service: LocalService): Promise<void> {
  const client = new pg.Client({ connectionString: service.databaseUrl });
  await client.connect();
  try {
    const isDone = async (): Promise<true | undefined> =>
      (await client.query(UNNUMBERED)).rowCount === 0 ? true : undefined;
    await until(isDone, NUMBERING_LIMIT_MS, 'the numbers of past events', 100);
  } finally {
    await client.end();
  }
}

const UNNUMBERED = `SELECT FROM event WHERE position IS NULL AND type IS NOT NULL LIMIT 1`;
const NUMBERING_LIMIT_MS = 60_000;

/** Creates the projects other than the first, with keys that are not kept. */
async function addProjects(client: pg.Client, service: LocalService, first: string): Promise<readonly string[]> {
  const sealer = new Sealer({ current: sealKey(Buffer.from(service.masterKey, 'base64'), 'api-key') });
  const others = PROFILES.slice(1).map(({ name, isTest }) => {
    const id = randomUUID();
    const sealed = sealer.seal(Buffer.from(randomBytes(32).toString('hex')), id);
    return { id, name, test: isTest, api_key_sealed: `\\x${sealed.toString('hex')}` };
  });
  await insert(
    client,
    'project',
    others.map((row) => ({ ...defaultsOfProject(), ...row })),
  );
  await client.query('INSERT INTO credit_account (project_id) SELECT unnest($1::uuid[])', [others.map(({ id }) => id)]);
  return [first, ...others.map(({ id }) => id)];
}

const defaultsOfProject = () => ({
  allowed_sources: [],
  require_idempotency_key: false,
  require_quote: false,
  signature_schemes: 'either',
  created_at: new Date().toISOString(),
  updated_at: new Date().toISOString(),
});

async function termsOf(client: pg.Client, service: LocalService): Promise<SaleTerms> {
  const resources = await service.wallet.post('wallet/getaccountresource', {
    address: service.bank.address,
    visible: true,
  });
  const { rows } = await client.query<{ duration_max_sec: number; sun_per_energy: string }>(
    'SELECT duration_max_sec, sun_per_energy FROM price_row',
  );
  return {
    energyLimit: BigInt(Number(resources['TotalEnergyLimit'])),
    energyWeight: BigInt(Number(resources['TotalEnergyWeight'])),
    prices: rows.map((row) => ({
      durationMaxSec: row.duration_max_sec,
      sunPerEnergy: BigInt(row.sun_per_energy),
    })),
    stakesSun: service.poolStakesTrx.map((trx) => BigInt(trx) * SUN_PER_TRX),
    rateE8: 30_000_000n,
  };
}

async function depositAddressesOf(client: pg.Client, projects: readonly string[]) {
  const { rows } = await client.query<{ project_id: string; address: string }>(
    'SELECT project_id, address FROM deposit_address',
  );
  return projects.map((id) => rows.find(({ project_id: project }) => project === id)?.address);
}

async function placesOf(
  client: pg.Client,
  service: LocalService,
  given: {
    readonly timeline: Timeline;
    readonly projects: readonly string[];
    readonly addresses: readonly (string | undefined)[];
  },
): Promise<Places> {
  const { rows } = await client.query<{ id: number; address: string }>('SELECT id, address FROM pool_wallet');
  const walletOf = (address: string) => {
    const found = rows.find((row) => row.address === address);
    if (found === undefined) throw new Error(`${address} is in no row of the pool`);
    return found;
  };
  const { orders, payments } = given.timeline;
  return {
    token: service.token,
    node: new URL(service.fullUrls[0] ?? '').host,
    projects: given.projects,
    depositAddresses: given.addresses,
    poolWallets: service.poolWallets.map(({ address }) => walletOf(address)),
    activationWallet: walletOf(service.activationWallet.address),
    orderIds: await idsOf(client, 'orders', orders.length),
    legIds: await idsOf(client, 'leg', orders.length),
    transactionIds: await idsOf(client, 'chain_tx', orders.length * 2),
    depositIds: await idsOf(client, 'deposit', payments.length),
  };
}

async function idsOf(client: pg.Client, table: string, count: number): Promise<readonly number[]> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT nextval(pg_get_serial_sequence($1, 'id')) AS id FROM generate_series(1, $2)`,
    [table, count],
  );
  return rows.map(({ id }) => Number(id));
}

interface Made {
  readonly timeline: Timeline;
  readonly chain: PastOnChain;
  readonly places: Places;
  readonly terms: SaleTerms;
}

async function write(
  client: pg.Client,
  { timeline, chain, places, terms }: Made,
  { seed, startMs, endMs }: { readonly seed: number; readonly startMs: number; readonly endMs: number },
): Promise<void> {
  for (const [table, trigger] of RESTING)
    await client.query(['ALTER TABLE', table, 'DISABLE TRIGGER', trigger].join(' '));
  for (const [table, rows] of Object.entries(rowsOf(timeline, chain, places))) await insert(client, table, rows);
  for (const [table, trigger] of RESTING)
    await client.query(['ALTER TABLE', table, 'ENABLE TRIGGER', trigger].join(' '));
  await insert(client, 'refused_request', refusedRows(places.projects[0] ?? '', seed, endMs));
  await insert(client, 'pool_wallet_day', walletDays(timeline, places, terms, { startMs, endMs }));
  await client.query(SUM_UP, [places.projects]);
  await client.query(SPENT_BY_KEYS, [places.projects]);
  await client.query(TOP_UP_ACTS, [places.projects]);
  await client.query(BEGUN, [places.projects]);
  await client.query(LAST_USE, [places.projects]);
  // Moves the deposit cursor past the history: its rows already contain all earlier deposits and costs.
  const { number, id, timestampMs } = chain.solid;
  await client.query(READ_TO, [number, Buffer.from(id, 'hex'), new Date(timestampMs)]);
}

const SUM_UP = `UPDATE credit_account a SET balance_credits = e.sum, spent_credits = e.today,
    spent_on = (clock_timestamp() AT TIME ZONE 'UTC')::date
  FROM (SELECT project_id, sum(credits) AS sum, coalesce(-sum(credits) FILTER (WHERE kind IN ('charge', 'refund')
          AND (created_at AT TIME ZONE 'UTC')::date = (clock_timestamp() AT TIME ZONE 'UTC')::date), 0) AS today
          FROM credit_entry GROUP BY project_id) e
 WHERE a.project_id = e.project_id AND a.project_id = ANY ($1)`;
/** All orders were charged to the primary key. */
const SPENT_BY_KEYS = `UPDATE api_key k SET spent_credits = a.spent_credits, spent_on = a.spent_on
  FROM credit_account a WHERE k.id = a.project_id AND k.id = ANY ($1)`;
const TOP_UP_ACTS = `INSERT INTO audit_log (actor, action, subject, reason, detail)
  SELECT actor, 'credits.topup', project_id::text, reason,
         jsonb_build_object('reference', substr(entry_key, length('topup:') + 1), 'credits', credits::text)
    FROM credit_entry WHERE entry_key LIKE 'topup:invoice-%' AND project_id = ANY ($1) ORDER BY id`;
/** Dates each project a few minutes before its first credits. */
const BEGUN = `WITH begun AS (
    SELECT project_id, min(created_at) - interval '4 minutes' AS at FROM credit_entry WHERE project_id = ANY ($1) GROUP BY 1),
  made AS (UPDATE project p SET created_at = b.at, updated_at = b.at FROM begun b WHERE p.id = b.project_id)
  UPDATE api_key k SET created_at = b.at FROM begun b WHERE k.id = b.project_id`;
const LAST_USE = `UPDATE api_key k SET last_used_at = (SELECT max(created_at) FROM orders WHERE project_id = k.project_id)
  WHERE k.id = ANY ($1)`;
const READ_TO = `UPDATE deposit_cursor SET block_number = $1, block_id = $2, block_at = $3`;

/** Returns the idle energy of each wallet and day, as the sum of the pool's readings would have been. */
function walletDays(
  { orders }: Timeline,
  { poolWallets }: Places,
  { energyLimit, energyWeight, stakesSun }: SaleTerms,
  { startMs, endMs }: { readonly startMs: number; readonly endMs: number },
): readonly Row[] {
  const energyOf = (amountSun: number): number =>
    (amountSun / Number(SUN_PER_TRX)) * (Number(energyLimit) / Number(energyWeight));
  const rows: Row[] = [];
  for (let dayMs = Math.floor(startMs / DAY_MS) * DAY_MS; dayMs < endMs; dayMs += DAY_MS) {
    const [fromMs, toMs] = [Math.max(dayMs, startMs), Math.min(dayMs + DAY_MS, endMs)];
    for (const [place, { id }] of poolWallets.entries()) {
      const measuredMs = toMs - fromMs;
      let idle = energyOf(Number(stakesSun[place] ?? 0n)) * measuredMs;
      for (const { wallet, amountSun, deliveredMs, reclaimedMs } of orders) {
        if (wallet !== place || deliveredMs === undefined || reclaimedMs === undefined) continue;
        idle -= energyOf(Number(amountSun)) * Math.max(0, Math.min(reclaimedMs, toMs) - Math.max(deliveredMs, fromMs));
      }
      const day = new Date(dayMs).toISOString().slice(0, 10);
      rows.push({
        ...{ day, wallet_id: id, measured_ms: measuredMs },
        ...{ idle_energy_ms: Math.round(idle).toString(), recovering_energy_ms: '0' },
      });
    }
  }
  return rows;
}

/** Inserts all rows of a table in one statement, in order. The first row defines the columns. */
async function insert(client: pg.Client, table: string, rows: readonly Row[]): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  const columns = Object.keys(first).join(', ');
  const text = ['INSERT INTO ', table, ' (', columns, ') ', 'id' in first ? 'OVERRIDING SYSTEM VALUE ' : ''];
  const source = ['SELECT ', columns, ' FROM json_populate_recordset(NULL::', table, ', $1)'];
  await client.query([...text, ...source].join(''), [JSON.stringify(rows)]);
}
