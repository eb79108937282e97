// External faults: wallet owners, other accounts on the chain, callers without credits, a database client, exchanges.
// One function for each fault; each returns how often it took effect, and restores what it changed.
import { sleep } from '../../../src/platform/support/clock.js';
import { addressToHex } from '../../../src/platform/chain/address.js';
import { signWithKey } from '../../../src/platform/chain/keys.js';
import { messageOf } from '../../../src/domain/errors.js';
import { seededRandom } from '../../../packages/devnet/src/faults-spec.js';
import { newChainAccount, type ChainAccount } from '../../../packages/local/src/chain-account.js';
import { POOL_OPERATIONS, type PoolWallet } from '../../../packages/local/src/local-service.js';
import { PoolWallets } from '../../../src/modules/pool/pool-wallets.js';
import { rawDataOf, SECOND_OWNERS, wire } from '../../support/chain/hostile-bytes.js';
import { until } from '../../../packages/local/src/wait.js';
import type { ChaosCluster } from './cluster.js';
import type { PlannedFault } from './plan.js';

type Inject = (cluster: ChaosCluster, fault: PlannedFault, lastsMs: number, over: AbortSignal) => Promise<number>;

const SUN = 1_000_000;
/** The chain's initial value. */
const ENERGY_LIMIT = 180_000_000_000;
/** Additional duration of a fault that has had no effect. */
const QUIET_MS = 12_000;
/** TRON charges 100 TRX for a change of permissions. This covers two changes and bandwidth. */
const PERMISSION_FEES_SUN = 210 * SUN;
const FLOOD_AT_ONCE = 12;
/** Some blocks: a transaction dropped by a fork is included in the next block. */
const TIME_LEFT_MS = 30_000;
const FOREIGN_EVERY_MS = 400;
/** Contract name and parameter type in java-tron's JSON. A pattern-based reader could take its digits for a number. */
const POISON = ':1234567890123456,';

const walletOf = (cluster: ChaosCluster, fault: PlannedFault): PoolWallet => {
  const { poolWallets } = cluster.service;
  const wallet = poolWallets[Math.floor(seededRandom(fault.seed)() * poolWallets.length)];
  if (wallet === undefined) throw new Error('there is no pool wallet');
  return wallet;
};

/** Re-enables all wallets, as the operator does after learning why their transactions died. */
export async function resumeWallets(cluster: ChaosCluster): Promise<void> {
  const { rows } = await cluster.sql.query<{ address: string }>(
    `SELECT address FROM pool_wallet WHERE delivery_fault IS NOT NULL`,
  );
  const act = { actor: 'chaos', reason: 'nodes were at fault, not the wallet' };
  for (const { address } of rows) await cluster.parts.get(PoolWallets).setStatus(address, 'active', act);
}

/** Polls `look` for as long as a fault may wait for a target. */
async function found<T>(look: () => Promise<T | undefined>, over: AbortSignal): Promise<T | undefined> {
  for (let waitedMs = 0; waitedMs < QUIET_MS && !over.aborted; waitedMs += 300) {
    const prey = await look().catch(() => undefined);
    if (prey !== undefined) return prey;
    await sleep(300, over);
  }
  return undefined;
}

/** A database client locks unfinished orders in a transaction and leaves it open. */
async function holdRows(cluster: ChaosCluster, lastsMs: number, over: AbortSignal): Promise<number> {
  const rows = await found(async () => {
    const client = await cluster.sql.connect();
    // The server may go down meanwhile; the pool handles errors of idle connections only.
    const ignore = (): void => undefined;
    client.on('error', ignore);
    try {
      await client.query('BEGIN');
      const { rowCount } = await client.query(
        `SELECT FROM orders WHERE NOT settled OR next_run_at IS NOT NULL ORDER BY id DESC LIMIT 3 FOR UPDATE SKIP LOCKED`,
      );
      if ((rowCount ?? 0) > 0) await sleep(Math.max(lastsMs, 4_000), over);
      await client.query('ROLLBACK').catch(() => undefined);
      client.off('error', ignore);
      client.release();
      return (rowCount ?? 0) > 0 ? rowCount : undefined;
    } catch (error) {
      client.release(true);
      throw error;
    }
  }, over);
  return rows ?? 0;
}

/** The latest pending action of each wallet owner, by address. */
const turns = new Map<string, Promise<unknown>>();

/** Serialises a wallet owner's actions: a wallet without TRX cannot pay for a change of its keys. */
async function byOwner<T>({ address }: ChainAccount, act: () => Promise<T>): Promise<T> {
  const turn = (turns.get(address) ?? Promise.resolve()).then(act, act);
  turns.set(address, turn);
  return turn;
}

/**
 * Undelegates a running rental with the wallet's own key; the service ends the rental with that transaction. Rentals
 * close to their end by the chain's clock, which may be ahead of the records, are skipped. If the service reclaimed in
 * the same block, the owner's transaction would take stake of another rental, and only the operator could judge that.
 * Rentals whose usable energy is judged are skipped too.
 */
async function undelegateAsOwner(cluster: ChaosCluster, over: AbortSignal): Promise<number> {
  // A rental may end before the owner's turn; another one is selected then.
  const taken = await found(async () => {
    const { rows } = await cluster.sql.query<{ address: string; receiver: string; sun: string }>(
      `SELECT w.address, l.receive_address AS receiver, l.amount_sun::text AS sun
         FROM leg l JOIN orders o ON o.id = l.order_id JOIN pool_wallet w ON w.id = l.wallet_id
        WHERE l.status = 'active' AND o.settled AND o.ends_at > $1 AND l.receive_address <> ALL ($2) ORDER BY o.ends_at DESC LIMIT 1`,
      [new Date((await cluster.directWallet.headTime()) + TIME_LEFT_MS), cluster.overlapping.addresses],
    );
    const [leg] = rows;
    const owner = cluster.service.poolWallets.find(({ address }) => address === leg?.address);
    if (leg === undefined || owner === undefined) return undefined;
    const operation = {
      owner_address: owner.address,
      receiver_address: leg.receiver,
      balance: Number(leg.sun),
      resource: 'ENERGY',
    };
    return byOwner(owner, async () => {
      await cluster.actAsOwner('undelegateresource', operation, owner);
      return true;
    });
  }, over);
  return taken === undefined ? 0 : 1;
}

/** In chain time: deeper than any fork that chaos makes. */
const FORKED_MS_MAX = 75_000;
const FINAL_LIMIT_MS = 60_000;
const PERMITS_MAX = 5;

/** Revokes the permission of the service's signing key, and restores it later. */
async function takeKeyAway(
  cluster: ChaosCluster,
  fault: PlannedFault,
  lastsMs: number,
  over: AbortSignal,
): Promise<number> {
  const wallet = walletOf(cluster, fault);
  const permit = async (key: string): Promise<void> => {
    const keys = (address: string) => [{ address, weight: 1 }];
    const permissions = {
      owner_address: wallet.address,
      owner: { type: 0, permission_name: 'owner', threshold: 1, keys: keys(wallet.address) },
      actives: [{ type: 2, permission_name: 'rental', threshold: 1, operations: POOL_OPERATIONS, keys: keys(key) }],
    };
    await cluster.directWallet.sendUntilIncluded('accountpermissionupdate', permissions, wallet);
  };
  const { bank } = cluster.service;
  const fees = { owner_address: bank.address, to_address: wallet.address, amount: PERMISSION_FEES_SUN };
  return byOwner(wallet, async () => {
    await cluster.directWallet.sendUntilIncluded('createtransaction', fees, bank);
    await permit(newChainAccount().address);
    await sleep(lastsMs, over);
    // A fork may revert the restored permission. Without it, no delegation of the wallet would ever be reclaimed.
    const isBack = async (): Promise<boolean> => {
      const account = await cluster.directWallet.post('wallet/getaccount', { address: wallet.address, visible: true });
      return JSON.stringify(account['active_permission'] ?? '').includes(wallet.hotKey.address);
    };
    for (let tries = 1; ; tries += 1) {
      await permit(wallet.hotKey.address);
      const final = (await cluster.directWallet.headTime()) + FORKED_MS_MAX;
      const isPast = async (): Promise<true | undefined> =>
        (await cluster.directWallet.headTime()) > final ? true : undefined;
      await until(isPast, FINAL_LIMIT_MS, 'the blocks that no fork undoes');
      if (await isBack()) return 1;
      if (tries === PERMITS_MAX) throw new Error(`${wallet.address} has not its key back`);
    }
  });
}

/** Removes the wallet's bandwidth stake and nearly all its TRX, and restores both later. */
async function takeBandwidth(
  cluster: ChaosCluster,
  fault: PlannedFault,
  lastsMs: number,
  over: AbortSignal,
): Promise<number> {
  const { directWallet, service } = cluster;
  const wallet = walletOf(cluster, fault);
  const owner_address = wallet.address;
  const accountOf = async (): Promise<{ balance: number; staked: number }> => {
    const account = await directWallet.post('wallet/getaccount', { address: owner_address, visible: true });
    const frozen = (account['frozenV2'] ?? []) as { type?: string; amount?: number }[];
    // TRON prints no type for bandwidth, the first resource.
    const staked = frozen.find(({ type }) => type === undefined)?.amount ?? 0;
    return { balance: Number(account['balance'] ?? 0), staked };
  };
  const send = async (path: string, body: object, by: ChainAccount): Promise<void> => {
    await directWallet.sendUntilIncluded(path, { owner_address: by.address, ...body }, by);
  };
  return byOwner(wallet, async () => {
    const { balance, staked } = await accountOf();
    if (staked === 0 || balance < 2 * SUN) return 0;
    await send('unfreezebalancev2', { unfreeze_balance: staked, resource: 'BANDWIDTH' }, wallet);
    const amount = balance - 2 * SUN;
    await send('createtransaction', { to_address: service.bank.address, amount }, wallet);
    await sleep(lastsMs, over);
    await send('createtransaction', { to_address: owner_address, amount }, service.bank);
    await send('cancelallunfreezev2', {}, wallet).catch(async (error: unknown) => {
      // A fork reverted the unstaking.
      if ((await accountOf()).staked === 0) throw error;
    });
    return 1;
  });
}

/** Halves the energy per staked TRX, as when the network's stake doubles. */
async function doubleStake(cluster: ChaosCluster, lastsMs: number, over: AbortSignal): Promise<number> {
  await cluster.control('parameters', { getTotalEnergyCurrentLimit: ENERGY_LIMIT / 2 });
  await sleep(lastsMs, over);
  await cluster.control('parameters', { getTotalEnergyCurrentLimit: ENERGY_LIMIT });
  return 1;
}

/** A project without credits orders as fast as it can. */
async function flood(cluster: ChaosCluster, lastsMs: number, over: AbortSignal): Promise<number> {
  const endsAt = performance.now() + lastsMs;
  const body = { receive_address: cluster.service.accounts[0]?.address, energy: 32_000 };
  let refused = 0;
  const orderOn = async (index: number): Promise<void> => {
    while (!over.aborted && (performance.now() < endsAt || (refused === 0 && performance.now() < endsAt + QUIET_MS))) {
      const merchant = cluster.broke[index % cluster.broke.length];
      const answer = await merchant?.post('/v1/orders', body).catch(() => undefined);
      if (answer?.body['error'] === 'INSUFFICIENT_CREDITS') refused += 1;
      else await sleep(200, over);
    }
  };
  await Promise.all(Array.from({ length: FLOOD_AT_ONCE }, (_, index) => orderOn(index)));
  return refused;
}

/** Repeats an on-chain action during the fault; counts accepted ones. */
async function again(lastsMs: number, over: AbortSignal, work: (n: number) => Promise<void>): Promise<number> {
  const endsAt = performance.now() + lastsMs;
  let times = 0;
  for (let n = 0; performance.now() < endsAt && !over.aborted; n += 1) {
    await work(n);
    times += 1;
    await sleep(FOREIGN_EVERY_MS, over);
  }
  return times;
}

interface Head {
  readonly blockID: string;
  readonly block_header: { readonly raw_data: { readonly number: number; readonly timestamp: number } };
}

/** Attempts in case a fork reverts the reference block before the transaction is sent. */
const REFERENCES_MAX = 3;

/** Signs and sends a contract with hand-written bytes. Throws with the node's message. */
async function sendBytes(
  cluster: ChaosCluster,
  by: ChainAccount,
  type: number,
  url: string,
  value: Buffer,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const said = await cluster.directWallet.post('wallet/broadcasthex', {
      transaction: await signedBytes(cluster, by, type, url, value),
    });
    if (said['result'] === true) return;
    if (said['code'] !== 'TAPOS_ERROR' || attempt === REFERENCES_MAX) {
      throw new Error(`an outsider's bytes: ${JSON.stringify(said)}`);
    }
  }
}

async function signedBytes(
  cluster: ChaosCluster,
  by: ChainAccount,
  type: number,
  url: string,
  value: Buffer,
): Promise<string> {
  const head = (await cluster.directWallet.post('wallet/getnowblock', {})) as unknown as Head;
  const { number, timestamp } = head.block_header.raw_data;
  const reference = Buffer.alloc(8);
  reference.writeBigUInt64BE(BigInt(number));
  const rawData = rawDataOf(
    type,
    url,
    value,
    wire.bytes(1, reference.subarray(6)),
    wire.bytes(4, Buffer.from(head.blockID, 'hex').subarray(8, 16)),
    wire.number(8, BigInt(timestamp + 60_000)),
  );
  const signature = signWithKey(rawData, by.privateKey);
  return Buffer.concat([wire.bytes(1, rawData), wire.bytes(2, signature)]).toString('hex');
}

const addressBytes = (address: string): Buffer => Buffer.from(addressToHex(address), 'hex');
const TRANSFER = 1;
const DELEGATE = 57;

/** Contract names and typed transfers that a pattern could mistake for a number. */
async function poison(cluster: ChaosCluster, lastsMs: number, over: AbortSignal): Promise<number> {
  const [alice, bob] = cluster.service.accounts;
  if (alice === undefined || bob === undefined) return 0;
  return again(lastsMs, over, async (n) => {
    if (n % 3 === 0) {
      const contract = {
        owner_address: alice.address,
        name: POISON,
        abi: '[]',
        bytecode: '00',
        fee_limit: 1_000 * SUN,
      };
      await cluster.directWallet.send('deploycontract', { ...contract, origin_energy_limit: 1, call_value: 0 }, alice);
      return;
    }
    const amount = wire.number(3, BigInt(n + 1));
    const value = Buffer.concat([
      wire.bytes(1, addressBytes(alice.address)),
      wire.bytes(2, addressBytes(bob.address)),
      amount,
    ]);
    await sendBytes(cluster, alice, TRANSFER, `${POISON}/protocol.TransferContract`, value);
  });
}

/**
 * An outsider's delegations whose bytes name a pool wallet as the first owner, in every way in which parsers differ.
 */
async function spoof(cluster: ChaosCluster, fault: PlannedFault, lastsMs: number, over: AbortSignal): Promise<number> {
  const { accounts, bank } = cluster.service;
  const [, bob] = accounts;
  if (bob === undefined) return 0;
  const ours = walletOf(cluster, fault);
  // A new account: energy used by an account's contracts cannot be delegated.
  const outsider = newChainAccount();
  const stake = async (): Promise<void> => {
    const gift = { owner_address: bank.address, to_address: outsider.address, amount: 300 * SUN };
    await cluster.directWallet.sendUntilIncluded('createtransaction', gift, bank);
    const operation = { owner_address: outsider.address, frozen_balance: 200 * SUN, resource: 'ENERGY' };
    await cluster.directWallet.sendUntilIncluded('freezebalancev2', operation, outsider);
  };
  await stake();
  return again(lastsMs, over, async (n) => {
    const [, second] = SECOND_OWNERS[n % SECOND_OWNERS.length] ?? [];
    if (second === undefined) return;
    const value = Buffer.concat([
      wire.bytes(1, addressBytes(ours.address)),
      second(addressBytes(outsider.address)),
      wire.number(2, 1n),
      wire.number(3, BigInt(SUN + n)),
      wire.bytes(4, addressBytes(bob.address)),
    ]);
    const send = () =>
      sendBytes(cluster, outsider, DELEGATE, 'type.googleapis.com/protocol.DelegateResourceContract', value);
    await send().catch(async (error: unknown) => {
      if (!/FreezeEnergyV2|does not exist/.test(messageOf(error))) throw error;
      // A fork reverted the block with the stake.
      await stake();
      await send();
    });
  });
}

/** Half of the exchanges quote a ten-thousandth of the price; the others are down. */
async function collude(cluster: ChaosCluster, lastsMs: number, over: AbortSignal): Promise<number> {
  const before = cluster.exchanges.liesSent;
  cluster.exchanges.collude(true);
  await sleep(Math.max(lastsMs, 4_000), over);
  cluster.exchanges.collude(false);
  return cluster.exchanges.liesSent - before;
}

export const OUTSIDERS = {
  'a row held by a client': (cluster, _fault, lastsMs, over) => holdRows(cluster, lastsMs, over),
  'an owner’s hand': (cluster, _fault, _ms, over) => undelegateAsOwner(cluster, over),
  'key gone': takeKeyAway,
  'bandwidth out': takeBandwidth,
  'the network’s stake doubled': (cluster, _fault, lastsMs, over) => doubleStake(cluster, lastsMs, over),
  'refusal flood': (cluster, _fault, lastsMs, over) => flood(cluster, lastsMs, over),
  'poisoned names': (cluster, _fault, lastsMs, over) => poison(cluster, lastsMs, over),
  'spoofed owners': spoof,
  'exchanges that collude': (cluster, _fault, lastsMs, over) => collude(cluster, lastsMs, over),
} as const satisfies Readonly<Record<string, Inject>>;
