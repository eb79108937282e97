// A small local chain for tests of orders: a staked pool wallet, an activation wallet, receivers, the reference token.
import { randomBytes } from 'node:crypto';
import { addressOfKey, signWithKey } from '../../../src/platform/chain/keys.js';
import { localUsdtContracts } from '../../../packages/local/src/local-usdt.js';
import { startDevnet } from '../../setup/devnet.js';

export interface Owner {
  readonly address: string;
  readonly privateKey: Buffer;
}

export interface OrderChain {
  readonly fullUrl: string;
  readonly solidUrl: string;
  /** Address of the reference token, a contract. */
  readonly token: string;
  /** Holds all of the token. */
  readonly holder: string;
  readonly pool: Owner;
  readonly activation: Owner;
  /** Activated plain accounts. */
  readonly receivers: readonly string[];
  /** Settings that point a service at this chain. */
  readonly env: Readonly<Record<string, string>>;
  readonly stop: () => Promise<void>;
}

const TRX = 1_000_000n;
const STAKED_TRX = 900_000_000n;
/** Burnt for bandwidth once the free bandwidth is used up. Each order is two transactions. */
const LIQUID_TRX = 100_000n;
const RECEIVERS = 40;

export function newOwner(): Owner {
  const privateKey = randomBytes(32);
  return { address: addressOfKey(privateKey), privateKey };
}

/** Starts the chain with a block every half second. */
export async function startOrderChain(): Promise<OrderChain> {
  const [pool, activation, tokenOwner] = [newOwner(), newOwner(), newOwner()];
  const receivers = Array.from({ length: RECEIVERS }, () => newOwner().address);
  const token = newOwner().address;
  const genesis = {
    accounts: [
      { address: pool.address, balance: ((STAKED_TRX + LIQUID_TRX) * TRX).toString() },
      { address: activation.address, balance: (1_000_000n * TRX).toString() },
      { address: tokenOwner.address, balance: TRX.toString() },
      ...receivers.map((address) => ({ address, balance: TRX.toString() })),
    ],
    contracts: localUsdtContracts({ address: token, holder: tokenOwner.address, owner: tokenOwner }),
  };
  const { fullUrl: full, solidUrl: solid, stop } = await startDevnet({ genesis, blockMs: 500, solidLag: 3 });
  try {
    await stake(full, pool, STAKED_TRX * TRX);
    const env = {
      TRON_FULL_NODE_URLS: full,
      TRON_SOLIDITY_NODE_URLS: solid,
      TOKEN_CONTRACT: token,
      // The wallets use their owner keys. Restricted permissions are not a subject of these tests.
      POOL_ALLOW_WIDE_PERMISSION: `${pool.address},${activation.address}`,
      RATE_SOURCES: 'static',
    };
    return {
      fullUrl: full,
      solidUrl: solid,
      token,
      holder: tokenOwner.address,
      pool,
      activation,
      receivers,
      env,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Sends a JSON body, and returns the answer's. */
export async function postJson(url: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  });
  return (await response.json()) as Record<string, unknown>;
}

/** Stakes for energy. Returns once the stake is in a block. */
export async function stake(url: string, owner: Owner, amount: bigint): Promise<void> {
  await confirmedAct(url, owner, 'freezebalancev2', { frozen_balance: Number(amount), resource: 'ENERGY' });
}

/** Runs `actAs` and waits until the operation is in a block. */
export async function confirmedAct(url: string, owner: Owner, operation: string, body: object): Promise<void> {
  const txid = await actAs(url, owner, operation, body);
  for (let look = 0; look < 100; look += 1) {
    const found = await postJson(`${url}/wallet/gettransactioninfobyid`, { value: txid });
    if (found['id'] === txid) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`the ${operation} never came into a block`);
}

/** Lets the chain build an operation of `owner`, signs it with the owner's key and sends it. Returns its id. */
export async function actAs(url: string, owner: Owner, operation: string, body: object): Promise<string> {
  const built = await postJson(`${url}/wallet/${operation}`, { owner_address: owner.address, ...body, visible: true });
  // The node wraps a contract call in `transaction`.
  const made = (built['transaction'] ?? built) as Record<string, unknown>;
  const raw = made['raw_data_hex'];
  if (typeof raw !== 'string') throw new Error(`the chain built no ${operation}: ${JSON.stringify(built)}`);
  const signature = signWithKey(Buffer.from(raw, 'hex'), owner.privateKey).toString('hex');
  const sent = await postJson(`${url}/wallet/broadcasttransaction`, { ...made, signature: [signature] });
  if (sent['result'] !== true) throw new Error(`the chain took no ${operation}: ${JSON.stringify(sent)}`);
  return String(made['txID']);
}

/** Returns the sun that `from` delegates to `to` for energy, as the chain reports it. */
export async function delegatedSunOf(url: string, from: string, to: string): Promise<bigint> {
  const said = await postJson(`${url}/wallet/getdelegatedresourcev2`, {
    fromAddress: from,
    toAddress: to,
    visible: true,
  });
  const rows = (said['delegatedResource'] ?? []) as { frozen_balance_for_energy?: number }[];
  return rows.reduce((sum, row) => sum + BigInt(row.frozen_balance_for_energy ?? 0), 0n);
}
