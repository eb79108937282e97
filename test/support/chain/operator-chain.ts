// A local chain for tests of operator commands: blocks on demand, wallets with stake and permissions.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { TronWeb } from 'tronweb';
import { addressOfKey } from '../../../src/platform/chain/keys.js';
import { startDevnet } from '../../setup/devnet.js';
import { postJson } from './order-chain.js';

/** Returns the key of a name, the same in every run. */
export function keyOf(name: string): Buffer {
  return createHash('sha256').update(`operator-test ${name}`).digest();
}

export function addressOf(name: string): string {
  return addressOfKey(keyOf(name));
}

/** One permission as `accountpermissionupdate` takes it. */
export interface ActivePermission {
  readonly name: string;
  readonly operations: string;
  readonly key: string;
}

export interface OperatorChain {
  readonly full: string;
  readonly solid: string;
  /** A token contract. */
  readonly token: string;
  /** The settings that point a service at this chain. */
  readonly env: Record<string, string>;
  /** POSTs to the full node. */
  call(path: string, body: object): Promise<Record<string, unknown>>;
  /** Signs a transaction that a node built with the key of `name`, sends it, and makes the block that includes it. */
  send(name: string, built: object): Promise<void>;
  /** Stakes the TRX of `name` for energy. */
  stake(name: string, trx: number): Promise<void>;
  /** Gives the account of `name` exactly these active permissions, with ids from 2. */
  permit(name: string, actives: readonly ActivePermission[]): Promise<void>;
  mine(count?: number): Promise<void>;
  stop(): Promise<void>;
}

const BYTECODE = new URL('../../tron-node/bytecode.json', import.meta.url);

interface ChainOptions {
  readonly blockMs?: number;
  readonly seed?: string;
  readonly trx?: number;
  /** TRX of single accounts, instead of `trx`. */
  readonly balances?: Readonly<Record<string, number>>;
  readonly parameters?: Readonly<Record<string, number>>;
}

/** Starts a chain on which each of `names` has `trx` TRX. With `blockMs` 0, only `mine` and `send` make blocks. */
export async function startOperatorChain(names: readonly string[], options: ChainOptions = {}): Promise<OperatorChain> {
  const { trx = 100_000, balances = {}, parameters = {} } = options;
  const accounts = names.map((name) => ({ address: addressOf(name), balance: (balances[name] ?? trx) * 1_000_000 }));
  const token = addressOf('token contract');
  const { bytecode } = JSON.parse(await readFile(BYTECODE, 'utf8')) as { bytecode: string };
  const contracts = [{ address: token, origin: accounts[0]!.address, name: 'Token', bytecode }];
  const { blockMs = 0, seed = 'operator' } = options;
  const genesis = { accounts, contracts, parameters };
  const { fullUrl: full, solidUrl: solid, control, stop } = await startDevnet({ genesis, blockMs, seed });
  const call = (path: string, body: object) => postJson(`${full}/${path}`, body);
  const mine = async (count = 1): Promise<void> => {
    await control('mine', { count });
  };
  const tron = new TronWeb({ fullHost: full });
  const send = async (name: string, built: object) => {
    expect(built).toHaveProperty('raw_data_hex');
    const signed = await tron.trx.sign(built as never, keyOf(name).toString('hex'));
    expect(await call('wallet/broadcasttransaction', signed)).toMatchObject({ result: true });
    await mine();
  };
  await mine(3);
  return {
    full,
    solid,
    token,
    env: { TRON_FULL_NODE_URLS: full, TRON_SOLIDITY_NODE_URLS: solid, TOKEN_CONTRACT: token },
    call,
    send,
    mine,
    stake: async (name, trx) =>
      send(
        name,
        await call('wallet/freezebalancev2', {
          owner_address: addressOf(name),
          frozen_balance: trx * 1_000_000,
          resource: 'ENERGY',
          visible: true,
        }),
      ),
    permit: async (name, actives) => {
      const owner = {
        type: 0,
        permission_name: 'owner',
        threshold: 1,
        keys: [{ address: addressOf(name), weight: 1 }],
      };
      const body = {
        owner_address: addressOf(name),
        owner,
        actives: actives.map((active) => ({
          type: 2,
          permission_name: active.name,
          threshold: 1,
          operations: active.operations,
          keys: [{ address: active.key, weight: 1 }],
        })),
        visible: true,
      };
      await send(name, await call('wallet/accountpermissionupdate', body));
    },
    stop,
  };
}
