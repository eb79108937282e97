// A worker and an operator in this process, two nodes that can lie, and a chain whose time is hours behind ours. The
// chain makes a block only on request.
import 'reflect-metadata';
import { pbkdf2Sync } from 'node:crypto';
import { Module, type DynamicModule, type INestApplicationContext, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { HDKey } from '@scure/bip32';
import { signWithKey } from '../../../src/platform/chain/keys.js';
import { signedTransactionHex } from '../../../src/platform/chain/signed-transaction.js';
import { solidHeadOf, TronClient } from '../../../src/platform/chain/tron.client.js';
import { readConfig } from '../../../src/platform/config/config.js';
import { DepositAddresses } from '../../../src/modules/deposits/deposit-addresses.js';
import type { Unexplained } from '../../../src/domain/holdings-report.js';
import { DepositAudit } from '../../../src/modules/deposits/deposit-audit.js';
import { BlockFollower } from '../../../src/platform/blocks/block-follower.js';
import { DepositsModule } from '../../../src/modules/deposits/deposits.module.js';
import { RateRecorder } from '../../../src/modules/deposits/rate-recorder.js';
import { DepositTransfers } from '../../../src/modules/deposits/deposit-transfers.js';
import { BlockFollowingModule } from '../../../src/apps/worker/block-following.module.js';
import { EventsModule } from '../../../src/modules/events/events.module.js';
import { PlatformModule } from '../../../src/platform/platform.module.js';
import { Projects } from '../../../src/modules/projects/projects.js';
import { ProjectsModule } from '../../../src/modules/projects/projects.module.js';
import { Database } from '../../../src/platform/database/database.js';
import { newChainAccount, Wallet } from '../../../packages/local/src/chain-account.js';
import { localUsdtContracts, localUsdtOwner } from '../../../packages/local/src/local-usdt.js';
import { TEST_TOKEN_ABI, TEST_TOKEN_BYTECODE } from '../../../packages/local/src/test-token.js';
import { AUTHOR, openAsOwner } from '../api/factory.js';
import { openLog } from '../log.js';
import { cliWith, TEST_MASTER_KEY } from '../cli.js';
import { createTestDatabase, type TestDatabase } from '../../setup/database.js';
import { startDevnet, type Devnet } from '../../setup/devnet.js';
import { createTestRedis, type TestRedis } from '../../setup/redis.js';
import { envAs } from '../../setup/roles.js';
import { tokenBalance } from '../chain/deposits-on-chain.js';
import { openSpyNode, type SpyNode } from '../nodes/spy-node.js';

export const START_LIMIT_MS = 120_000;
const FEE_LIMIT = 100_000_000;
export const INFOS = 'walletsolidity/gettransactioninfobyblocknum';
export const BLOCK = 'walletsolidity/getblockbynum';
export const MINUTE_MS = 60_000;
/** The chain's time is hours behind ours, so that a rule that mixes the two clocks fails. */
export const GENESIS_MS = Math.floor((Date.now() - 101 * 3_600_000) / MINUTE_MS) * MINUTE_MS;
/** The account's private key, as the offline machine holds it. */
const ROOT = HDKey.fromMasterSeed(pbkdf2Sync('deposits of a test', 'mnemonic', 2048, 64, 'sha512'));
export const XPUB = ROOT.derive("m/44'/195'/3'").publicExtendedKey;

export const payer = newChainAccount();
const token = newChainAccount().address;
export const otherToken = newChainAccount().address;

let store: TestDatabase;
let redis: TestRedis;
export let chain: Devnet;
export let spies: readonly [SpyNode, SpyNode];
export let env: Record<string, string>;
export let database: Database;
export let worker: INestApplicationContext;
export let operator: INestApplicationContext;
const opened: INestApplicationContext[] = [];

@Module({})
class Parts {
  static of(imports: readonly (Type | DynamicModule)[]): DynamicModule {
    return { module: Parts, imports: [...imports] };
  }
}

export async function open(
  role: 'worker' | 'cli',
  modules: readonly Type[],
  more: object = {},
): Promise<INestApplicationContext> {
  const config = readConfig(envAs({ ...env, ...more }, role), role);
  const parts = Parts.of([PlatformModule.for(role, config, openLog('silent')), ...modules]);
  const app = await NestFactory.createApplicationContext(parts, { logger: false, abortOnError: false });
  opened.push(app);
  return app;
}

export const openWorker = (more: object = {}) => open('worker', [BlockFollowingModule, EventsModule], more);

/** `genesisMs` is the time of the chain's first block. */
export async function openFixture(genesisMs = GENESIS_MS): Promise<void> {
  const contract = { origin: payer.address, name: 'T', bytecode: TEST_TOKEN_BYTECODE, abi: TEST_TOKEN_ABI };
  [store, redis, chain] = await Promise.all([
    createTestDatabase(),
    createTestRedis(),
    startDevnet({
      blockMs: 0,
      solidLag: 2,
      second: { behind: 0, solidLag: 2 },
      genesis: {
        timestamp: genesisMs,
        accounts: [
          { address: payer.address, balance: '9000000000000000' },
          { address: localUsdtOwner.address, balance: '1000000000000' },
        ],
        contracts: [
          ...localUsdtContracts({ address: token, holder: payer.address }),
          { ...contract, address: otherToken },
        ],
      },
    }),
  ]);
  spies = [await openSpyNode(chain.solidUrl), await openSpyNode(chain.second!.solidUrl)];
  env = {
    DATABASE_URL: store.url,
    REDIS_URL: redis.url,
    TRON_FULL_NODE_URLS: `${chain.fullUrl},${chain.second!.fullUrl}`,
    TRON_SOLIDITY_NODE_URLS: `${spies[0].url},${spies[1].url}`,
    TOKEN_CONTRACT: token,
    MASTER_KEY: TEST_MASTER_KEY,
    RATE_SOURCES: 'static',
    DEPOSIT_XPUB: XPUB,
    TRON_HEAD_STALL_SEC: '3600',
    TRON_POLL_MS: '1000',
  };
  database = await openAsOwner(store.url);
  operator = await open('cli', [DepositsModule, ProjectsModule]);
  worker = await openWorker();
  await mine(4);
  const head = await solidHeadOf(operator.get(TronClient).pool.nodes[0]!);
  await operator.get(DepositAddresses).useAccount(head, AUTHOR);
}

/** Resets rates and nodes between tests: usual rates, honest nodes. */
export async function calm(): Promise<void> {
  for (const spy of spies) spy.rest();
  await rates(
    () => 30_000_000n,
    () => 100_000_000n,
  );
}

export async function closeFixture(): Promise<void> {
  for (const app of opened) await app.close();
  await database.source.destroy();
  await Promise.all(spies.map((spy) => spy.close()));
  await chain.stop();
  await redis.close();
  await store.drop();
}

/** Runs an action of the token's owner in its own block. */
export const tokenAct = (act: string, terms: object = {}) => chain.control(`token/${act}`, terms);

export const mine = (count: number) => chain.control('mine', { count });

/**
 * Replaces the rates by one for each minute of the chain's first three hours. The worker then records none: it would add
 * the rate of the present minute, in the first test and whenever a minute begins.
 */
export async function rates(trx: (minute: number) => bigint | undefined, usdt: (minute: number) => bigint | undefined) {
  worker.get(RateRecorder).record = () => Promise.resolve();
  await database.query(`DELETE FROM asset_rate`);
  for (const [asset, rateAt] of [
    ['TRX', trx],
    ['USDT', usdt],
  ] as const) {
    for (let minute = 0; minute < 180; minute += 1) {
      const rate = rateAt(minute);
      if (rate === undefined) continue;
      await database.query(`INSERT INTO asset_rate (asset, minute, rate_e8) VALUES ($1, $2, $3)`, [
        asset,
        new Date(GENESIS_MS + minute * MINUTE_MS),
        rate,
      ]);
    }
  }
}

/** Adds a rate that is later than all others. */
export async function laterRate(asset: 'TRX' | 'USDT', rate: bigint): Promise<void> {
  await database.query(
    `INSERT INTO asset_rate (asset, minute, rate_e8)
     SELECT $1, coalesce(max(minute), $3) + interval '1 day', $2 FROM asset_rate WHERE asset = $1`,
    [asset, rate, new Date(GENESIS_MS)],
  );
}

export interface DepositProject {
  readonly id: string;
  readonly address: string;
}

export async function newDepositProject(): Promise<DepositProject> {
  const { id } = await operator.get(Projects).create('shop', { kind: 'prepaid' }, AUTHOR);
  return { id, address: (await operator.get(DepositAddresses).addressOf(id))! };
}

export const wallet = () => new Wallet(chain.fullUrl);
export const payTrx = (to: DepositProject, amount: number) =>
  wallet().send('createtransaction', { owner_address: payer.address, to_address: to.address, amount }, payer);

/** Returns the receipt. */
export async function payToken(to: DepositProject, amount: bigint, contract = token): Promise<Json> {
  const before = await pending();
  const sent = wallet().transferToken(contract, payer, to.address, amount, FEE_LIMIT);
  while ((await pending()) === before);
  await mine(1);
  return sent;
}

/** Returns the token balance of an address at the head. */
export async function tokenOf(address: string): Promise<bigint> {
  return tokenBalance(wallet(), token, address);
}

/** Delegates at least `energy` to an address, from the payer's stake. */
export async function rentFor(address: string, energy: bigint): Promise<void> {
  const network = await wallet().post('wallet/getaccountresource', { address: payer.address, visible: true });
  const [limit, weight] = [Number(network['TotalEnergyLimit']), Number(network['TotalEnergyWeight'] ?? 0)];
  // More stake makes each energy dearer. Twice the stake suffices; the second step delegates by the new ratio.
  const staked = Math.ceil((2 * (Number(energy) * (weight + 1))) / limit) * 1_000_000 + 1_000_000;
  const owner = { owner_address: payer.address, resource: 'ENERGY' };
  await wallet().send('freezebalancev2', { ...owner, frozen_balance: staked }, payer);
  await mine(1);
  const after = await wallet().post('wallet/getaccountresource', { address: payer.address, visible: true });
  const sun = Math.ceil((Number(energy) * 1_000_000 * Number(after['TotalEnergyWeight'])) / limit) + 1_000_000;
  const amount = Math.min(sun, staked);
  await wallet().send('delegateresource', { ...owner, receiver_address: address, balance: amount }, payer);
  await mine(1);
}

const pending = async (): Promise<number> => ((await chain.control('status')) as { pending: number }).pending;

/** Returns the private key of a path, as the offline machine derives it. */
export const keyOf = (path: string): Buffer => Buffer.from(ROOT.derive(path).privateKey!);

/** Signs a planned transaction as the offline machine does, and sends it. */
export async function signAndSend(planned: { readonly path: string; readonly rawDataHex: string }): Promise<void> {
  const key = keyOf(planned.path);
  const rawData = Buffer.from(planned.rawDataHex, 'hex');
  const hex = signedTransactionHex(rawData, signWithKey(rawData, key));
  const sent = await wallet().post('wallet/broadcasthex', { transaction: hex });
  if (sent['result'] !== true) throw new Error(JSON.stringify(sent));
}

/** Sends from a deposit address with the account's key, outside a sweep. */
export async function sendFrom(from: DepositProject, to: string, amount: bigint): Promise<string> {
  const addresses = await operator.get(DepositAddresses).list();
  const { account, place } = addresses.find(({ address }) => address === from.address)!;
  const transfers = operator.get(DepositTransfers);
  const at = { address: from.address, project_id: from.id, account, place };
  const built = transfers.build(at, { to, asset: 'TRX', amount }, await transfers.buildTerms());
  await signAndSend(built);
  return built.txid;
}

/** Removes the last transaction or receipt of every block that has several. */
export function hideLast(path: string, answer: unknown): unknown {
  if (path === INFOS) {
    const infos = infosOf(answer);
    return infos.length < 2 ? infos : infos.slice(0, -1);
  }
  const block = answer as Json;
  const transactions = (block['transactions'] ?? []) as Json[];
  return transactions.length < 2 ? block : { ...block, transactions: transactions.slice(0, -1) };
}

/** Makes blocks until everything that was sent is solid. */
export const settle = () => mine(3);

/** Follows blocks until none is left. */
export async function follow(app = worker): Promise<void> {
  while (await app.get(BlockFollower).runPass());
}

/** Makes a block and notes its payments before it is solid. */
export async function sightings(app = worker): Promise<void> {
  await mine(1);
  await follow(app);
  await app.get(BlockFollower).workBetweenBlocks();
}

interface Seen {
  readonly status: string;
  readonly reason: string | null;
  readonly asset: string;
  readonly amount: string;
  readonly credits: bigint | null;
}

export const depositsOf = ({ id }: DepositProject) =>
  database.query<Seen>(
    `SELECT status, reason, asset, amount::text, credits FROM deposit WHERE project_id = $1 ORDER BY id`,
    [id],
  );

/** Returns the balance, which must equal the sum of the entries. */
export async function creditedTo({ id }: DepositProject): Promise<bigint> {
  const [row] = await database.query<{ balance: bigint; entries: bigint }>(
    `SELECT balance_credits AS balance, (SELECT coalesce(sum(credits), 0)::bigint FROM credit_entry WHERE project_id = a.project_id) AS entries
       FROM credit_account a WHERE project_id = $1`,
    [id],
  );
  expect(row!.entries).toBe(row!.balance);
  return row!.balance;
}

/** Ends the block-reading lease of paused workers, so that the next worker can read. */
export const freeTurn = () => database.query(`UPDATE deposit_cursor SET lease_until = NULL`);

const answerOf = async (path: string, number: number): Promise<unknown> => {
  const response = await fetch(`${chain.solidUrl}/${path}`, { method: 'POST', body: JSON.stringify({ num: number }) });
  return response.json();
};

export type Json = Record<string, unknown>;

/** Changes the nodes' answers about blocks. */
export function meddle(who: readonly SpyNode[], change: (path: string, answer: unknown) => unknown): void {
  for (const spy of who) {
    spy.before = async (path, body) => {
      if (path !== INFOS && path !== BLOCK) return undefined;
      return { says: JSON.stringify(change(path, await answerOf(path, (JSON.parse(body) as { num: number }).num))) };
    };
  }
}

export const infosOf = (answer: unknown): Json[] => answer as Json[];

export const solid = async (): Promise<number> => (await solidHeadOf(operator.get(TronClient).pool.nodes[0]!)).number;

export async function unexplained(): Promise<readonly Unexplained[]> {
  await follow();
  return (await operator.get(DepositAudit).run()).unexplained;
}

export const idOf = async ({ id }: DepositProject): Promise<bigint> =>
  (await database.query<{ id: bigint }>(`SELECT id FROM deposit WHERE project_id = $1 ORDER BY id LIMIT 1`, [id]))[0]!
    .id;

export const idsOf = async ({ id }: DepositProject, asset: 'TRX' | 'USDT'): Promise<bigint[]> =>
  (
    await database.query<{ id: bigint }>(`SELECT id FROM deposit WHERE project_id = $1 AND asset = $2 ORDER BY id`, [
      id,
      asset,
    ])
  ).map((row) => row.id);

export const inTerminal = async (...args: string[]) => cliWith({ ...env, USER: 'tester' })(...args);
export const commandLine = async (...args: string[]) => inTerminal('--json', '--yes', '--reason', 'a test', ...args);
