/** Outages of the whole service, from stored records: each with its cause, its time and its remedy. Reads only. */
import type { ConsoleConfig } from '../../platform/config/console-config.js';
import type { Database } from '../../platform/database/database.js';
import { withoutNull } from './answers.js';
import type { InboxItem } from './operator-shapes.js';

/** Seconds after which due work counts as left undone, as in docker/alerts.yml. */
const LATE_SEC = 60;

/** `$1`: age in seconds at which sales stop. `$2`: age at which a rate is old, null with a fixed rate. `$3`: LATE_SEC. */
const OUTAGES = {
  name: 'console_outages',
  text: `SELECT clock_timestamp() AS now,
      (SELECT row_to_json(s) FROM (SELECT reason, stopped_at AS since FROM sales_stop) s) AS stop,
      (SELECT row_to_json(s) FROM (SELECT nullif(m.measured_at, 'epoch') AS since, f.value ->> 'cause' AS cause, f.value ->> 'reason' AS reason
         FROM market_state m LEFT JOIN market_state f ON f.name = 'chain-failure' AND f.measured_at > m.measured_at
        WHERE m.name = 'chain' AND m.measured_at < clock_timestamp() - make_interval(secs => $1)) s) AS fees,
      EXISTS (SELECT FROM market_state WHERE name = 'chain-failure' AND measured_at > clock_timestamp() - make_interval(secs => $1)
         AND value ->> 'cause' = 'no-node') AS is_without_node,
      (SELECT count(*)::int FROM pool_wallet WHERE role = 'pool') AS wallets,
      (SELECT count(*)::int FROM pool_wallet WHERE role = 'pool' AND status = 'active') AS selling,
      (SELECT to_json(measured_at) FROM market_state
        WHERE name = 'trx-usd' AND measured_at < clock_timestamp() - make_interval(secs => $2::int)) AS old_rate,
      (SELECT to_json(min(next_run_at)) FROM orders
        WHERE next_run_at < clock_timestamp() - make_interval(secs => $3) AND (lease_until IS NULL OR lease_until < clock_timestamp())) AS order_due,
      (SELECT to_json(min(read_at)) FROM pool_wallet WHERE read_at < clock_timestamp() - make_interval(secs => $3)) AS pool_read,
      (SELECT to_json(min(due_at)) FROM webhook_state
        WHERE due_at < clock_timestamp() - make_interval(secs => $3) AND (lease_until IS NULL OR lease_until < clock_timestamp())) AS webhook_due`,
};

interface OutageRow {
  readonly now: Date;
  readonly stop: { readonly reason: string; readonly since: string } | null;
  readonly fees: {
    readonly since: string | null;
    readonly cause: string | null;
    readonly reason: string | null;
  } | null;
  /** True if no node answered the latest reading. */
  readonly is_without_node: boolean;
  readonly wallets: number;
  readonly selling: number;
  readonly old_rate: string | null;
  readonly order_due: string | null;
  readonly pool_read: string | null;
  readonly webhook_due: string | null;
}

interface Outage {
  readonly effect: string;
  readonly cause: string;
  readonly since?: string | undefined;
  readonly remedy: string;
  readonly command: string;
}

/** Begins the text of each outage in which no order is accepted. */
export const UNSOLD = 'Nothing is being sold';
const DOCTOR = 'npm run -s cli -- doctor';

/** Causes for which the chain's fees cannot be read (modules/quotes/market-obstacles.ts). */
const FEES: Readonly<Record<string, readonly [cause: string, remedy: string]>> = {
  'no-node': ['no node has answered', 'Check that the nodes of TRON_FULL_NODE_URLS run and can be reached from here.'],
  doubtful: [
    'the nodes have given fees outside their bounds',
    'Compare the chain’s fees with their bounds in the settings, and raise a bound that is too low.',
  ],
  disagreement: ['the nodes have contradicted each other', 'Take the wrong node out of TRON_FULL_NODE_URLS.'],
};
const UNREAD = [
  'the chain’s fees have not been read',
  'Check that an API or a worker runs, and read its log.',
] as const;

/** Returns the present outages, the gravest first. */
export async function readOutages(database: Database, { market, rates }: ConsoleConfig): Promise<InboxItem[]> {
  const isFixed = rates.sources.every((name) => name === 'static');
  const params = [market.maxAgeSec, isFixed ? null : rates.maxAgeSec, LATE_SEC];
  const [row] = await database.query<OutageRow>(OUTAGES, params);
  if (row === undefined) throw new Error('a statement without a table has one row');
  return [...unsold(row), ...undone(row)].map(itemOf);
}

/** Returns the reasons for which no order is accepted. */
function unsold({ stop, fees, wallets, selling }: OutageRow): Outage[] {
  const outages: Outage[] = [];
  if (stop !== null) {
    const remedy = 'Check the disagreement with this command, then explain it or correct the records.';
    const command = 'npm run -s cli -- verify';
    outages.push({ effect: UNSOLD, cause: stop.reason, since: stop.since, remedy, command });
  }
  if (fees !== null) {
    const [cause, remedy] = FEES[fees.cause ?? ''] ?? UNREAD;
    const reason = fees.reason === null ? '' : ` (${fees.reason})`;
    outages.push({ effect: UNSOLD, cause: cause + reason, since: fees.since ?? undefined, remedy, command: DOCTOR });
  }
  if (wallets > 0 && selling === 0) {
    const cause = wallets === 1 ? 'the only wallet is paused' : `all ${wallets.toString()} wallets are paused`;
    const remedy = 'Resume one with `pool resume` once its fault is corrected.';
    outages.push({ effect: UNSOLD, cause, remedy, command: 'npm run -s cli -- pool list' });
  }
  return outages;
}

/** Returns the processes that leave their work undone. */
function undone(row: OutageRow): Outage[] {
  const outages: Outage[] = [];
  // A worker that runs cannot read the pool from nodes that do not answer.
  const unread = row.is_without_node ? null : row.pool_read;
  if (row.order_due !== null || unread !== null) {
    const [cause, since] =
      row.order_due === null
        ? ['no worker has read the pool', unread ?? undefined]
        : ['no worker has taken a due order', row.order_due];
    const remedy = 'Start a worker (`npm run start:worker`), or read its log.';
    outages.push({ effect: 'Nothing is being delivered', cause, since, remedy, command: DOCTOR });
  }
  if (row.webhook_due !== null) {
    const remedy = 'Start a sender (`npm run start:sender`), or read its log.';
    const cause = 'no sender has taken a due delivery';
    outages.push({ effect: 'No webhook is being sent', cause, since: row.webhook_due, remedy, command: DOCTOR });
  }
  if (row.old_rate !== null) {
    const remedy = 'Check that this machine reaches the exchanges of RATE_SOURCES, or name others.';
    const command = 'npm run -s cli -- price rate';
    const cause = 'no TRX/USD rate has been read';
    outages.push({ effect: 'Charges use an old rate', cause, since: row.old_rate, remedy, command });
  }
  return outages;
}

function itemOf({ effect, cause, since, remedy, command }: Outage): InboxItem {
  const at = since === undefined ? undefined : new Date(since).toISOString();
  const when = at === undefined ? '' : ` since ${at.slice(0, 16).replace('T', ' ')} UTC`;
  return withoutNull<InboxItem>({
    severity: 'fault',
    says: `${effect}: ${cause}${when}. ${remedy}`,
    command,
    since: at,
    outage: true,
  });
}
