// Reads for fulfilment tests: orders from the API, legs and transactions from the database, delegations from the chain.
import { until } from '../../../packages/local/src/wait.js';
import type { CrashCluster } from '../../programmes/crash/cluster.js';

const LIMIT_MS = 45_000;

export interface OrderSeen {
  readonly id: number;
  readonly key: string;
  readonly status: string;
  readonly settled: boolean;
  readonly energy: number;
  readonly delivered_energy?: number;
  readonly delivered_at?: string;
  readonly ends_at?: string;
  readonly reclaimed_at?: string;
  readonly error?: string;
  readonly error_code?: string;
  readonly needs_attention: boolean;
  readonly delegations: readonly {
    readonly owner_address: string;
    readonly amount_sun: number;
    readonly txid: string;
    readonly block_number?: number;
    readonly reclaim_txid?: string;
  }[];
}

export interface TxSeen {
  readonly leg_id: bigint;
  readonly purpose: string;
  readonly attempt: number;
  readonly status: string;
  readonly txid: string;
  readonly sends: number;
  readonly evidence: { readonly absences: readonly { readonly solidHead: { readonly timestampMs: number } }[] } | null;
  readonly expires_at: Date;
}

export class OrderProbe {
  constructor(readonly cluster: CrashCluster) {}

  async rent(receiver: string, energy: number, durationSec = 60): Promise<string> {
    return this.accepted('/v1/orders', { receive_address: receiver, energy, duration_sec: durationSec });
  }

  async activate(address: string): Promise<string> {
    return this.accepted('/v1/activate', { address });
  }

  async order(key: string): Promise<OrderSeen> {
    const { status, body } = await this.cluster.merchant.get(`/v1/orders/${key}`);
    if (status > 202) throw new Error(`order ${key} answered ${status.toString()}`);
    return body as unknown as OrderSeen;
  }

  /** Waits until `isSo` holds for the order. */
  async wait(key: string, what: string, isSo: (order: OrderSeen) => boolean): Promise<OrderSeen> {
    let last: OrderSeen | undefined;
    try {
      return await until(
        async () => {
          last = await this.order(key);
          return isSo(last) ? last : undefined;
        },
        LIMIT_MS,
        `${key} being ${what}`,
        40,
      );
    } catch (error) {
      const txs = await this.transactions(key);
      throw new Error(`${String(error)}\n${show(last)}\n${show(txs)}`, { cause: error });
    }
  }

  delivered = (key: string) => this.wait(key, 'delivered', (order) => order.status === 'delivered');
  settled = (key: string) => this.wait(key, 'settled', (order) => order.settled);
  refunded = (key: string) => this.wait(key, 'refunded', (order) => order.status === 'refunded');
  reclaimed = (key: string) => this.wait(key, 'reclaimed', (order) => order.reclaimed_at !== undefined);

  async transactions(key: string): Promise<TxSeen[]> {
    return this.cluster.database.query<TxSeen>(
      `SELECT t.leg_id, t.purpose, t.attempt, t.status, encode(t.txid, 'hex') AS txid, t.sends, t.evidence, t.expires_at
         FROM chain_tx t JOIN orders o ON o.id = t.order_id WHERE o.key = $1 ORDER BY t.id`,
      [key],
    );
  }

  /** Waits until no worker holds the order. Returns its number of claims and the seconds until it is due. */
  async rest(key: string): Promise<{ claims: number; sec: number | null }> {
    const free = async (): Promise<{ claims: number; sec: number | null } | undefined> => {
      const [row] = await this.cluster.database.query<{ claims: number; sec: number | null }>(
        `SELECT fence AS claims, extract(epoch FROM next_run_at - clock_timestamp())::float8 AS sec
           FROM orders WHERE key = $1 AND lease_until IS NULL`,
        [key],
      );
      return row;
    };
    return until(free, LIMIT_MS, `${key} being given back`, 40);
  }

  /**
   * Waits until no worker holds a settled order and none is due to check it. A run overtaken by settling may leave one
   * check.
   */
  async onlyDueByChain(key: string): Promise<void> {
    const waits = async (): Promise<true | undefined> => ((await this.rest(key)).sec === null ? true : undefined);
    await until(waits, LIMIT_MS, `${key} waiting for the chain's clock`, 40);
  }

  /** Waits until the end of the rental is solid. */
  async over(key: string): Promise<void> {
    const ended = async (): Promise<true | undefined> => {
      const rows = await this.cluster.database.query(
        `SELECT FROM leg l JOIN orders o ON o.id = l.order_id WHERE o.key = $1 AND l.status <> 'reclaimed'`,
        [key],
      );
      return rows.length === 0 ? true : undefined;
    };
    await until(ended, LIMIT_MS, `${key} being over`, 40);
  }

  /** Returns all states of the order so far, as in `reserved>placed>delivered`. */
  async history(key: string): Promise<string> {
    const rows = await this.cluster.database.query<{ to_status: string }>(
      `SELECT e.to_status FROM event e JOIN orders o ON o.id = e.order_id WHERE o.key = $1 AND e.to_status IS NOT NULL ORDER BY e.id`,
      [key],
    );
    return ['reserved', ...rows.map((row) => row.to_status)].join('>');
  }

  async balance(): Promise<number> {
    return (await this.cluster.merchant.get('/v1/balance')).body['credits_balance'] as number;
  }

  /** Returns the sun that all pool wallets delegate to `receiver`, as the chain reports it. */
  async delegatedSun(receiver: string): Promise<number> {
    const sums = await Promise.all(
      this.cluster.service.poolWallets.map(async (wallet) => {
        const asked = { fromAddress: wallet.address, toAddress: receiver, visible: true };
        const answer = await this.cluster.service.wallet.post('wallet/getdelegatedresourcev2', asked);
        const rows = (answer['delegatedResource'] ?? []) as { frozen_balance_for_energy?: number }[];
        return rows.reduce((sum, row) => sum + (row.frozen_balance_for_energy ?? 0), 0);
      }),
    );
    return sums.reduce((sum, each) => sum + each, 0);
  }

  /** Advances the chain's clock by mining ten blocks at a time, so that followers see them as on a real chain. */
  async passChainTime(seconds: number): Promise<void> {
    for (let left = Math.ceil(seconds / 3); left > 0; left -= 10) {
      await this.cluster.control('mine', { count: Math.min(10, left) });
    }
  }

  /** Drops the block of this number and all later ones, once at least `above` blocks follow it. */
  async dropBlock(number: number, above: number): Promise<void> {
    const headNumber = async (): Promise<number | undefined> => {
      const { head } = await this.cluster.control('status');
      return Number(head) >= number + above ? Number(head) : undefined;
    };
    const head = await until(headNumber, LIMIT_MS, `${above.toString()} blocks`, 20);
    // One block deeper, because the chain may make a block in between.
    await this.cluster.control('fork', { depth: head - number + 2, drop: true });
  }

  private async accepted(path: string, body: Readonly<Record<string, unknown>>): Promise<string> {
    const key = await this.cluster.buy(this.cluster.merchant, path, body);
    if (!this.cluster.accepted.has(key)) throw new Error(`${path} was refused: ${this.cluster.violations.join('; ')}`);
    return key;
  }
}

export const legsOf = (order: OrderSeen): number => order.delegations.length;
export const sunOf = (order: OrderSeen): number => order.delegations.reduce((sum, leg) => sum + leg.amount_sun, 0);

function show(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) => (typeof member === 'bigint' ? member.toString() : member));
}
