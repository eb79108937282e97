// A plain account on the local chain, and the transactions that set a service up. The node builds them; this code signs.
import { createHash, randomBytes } from 'node:crypto';
import { addressToHex } from '../../../src/platform/chain/address.js';
import { addressOfKey, signWithKey } from '../../../src/platform/chain/keys.js';
import { reasonOf } from '../../../src/domain/errors.js';
import { until } from './wait.js';

const REQUEST_LIMIT_MS = 10_000;
const ATTEMPTS = 3;
/** Longer than the validity of a transaction built by a node, in chain time. */
const VALIDITY_MS = 90_000;
const SENDS_MAX = 5;
const INCLUSION_LIMIT_MS = 60_000;

type Json = Readonly<Record<string, unknown>>;

export interface ChainAccount {
  readonly address: string;
  readonly privateKey: Buffer;
}

export function newChainAccount(): ChainAccount {
  return accountOf(randomBytes(32));
}

/** Derives an account from a name: the same account in every run. */
export function namedChainAccount(name: string): ChainAccount {
  return accountOf(createHash('sha256').update(name).digest());
}

function accountOf(privateKey: Buffer): ChainAccount {
  return { address: addressOfKey(privateKey), privateKey };
}

/** A wallet client for a node's full-node port. */
export class Wallet {
  constructor(readonly fullUrl: string) {}

  /** Retries a failed connection, since a busy node may close an idle one. Throws after the third failure. */
  async post(path: string, body: Json): Promise<Json> {
    const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    for (let attempt = 1; ; attempt += 1) {
      try {
        const signal = AbortSignal.timeout(REQUEST_LIMIT_MS);
        const response = await fetch(`${this.fullUrl}/${path}`, { ...request, signal });
        return (await response.json()) as Json;
      } catch (error) {
        // The error of `fetch` only says that it failed; its `cause` holds the reason.
        const reason = reasonOf((error as Error).cause ?? error);
        if (attempt >= ATTEMPTS) throw new Error(`${path} at ${this.fullUrl}: ${reason}`, { cause: error });
      }
    }
  }

  /** Has the node build a transaction, signs and sends it, and returns its id. Throws with the node's message. */
  async send(path: string, body: Json, signer: ChainAccount): Promise<string> {
    const made = await this.post(`wallet/${path}`, { visible: true, ...body });
    return this.signAndSend((made['transaction'] ?? made) as Json, signer);
  }

  /** Signs and sends a transaction built by a node, and returns its id. Throws with the node's message. */
  async signAndSend(made: Json, signer: ChainAccount): Promise<string> {
    if (typeof made['raw_data_hex'] !== 'string') throw new Error(`no transaction: ${JSON.stringify(made)}`);
    const signature = signWithKey(Buffer.from(made['raw_data_hex'], 'hex'), signer.privateKey).toString('hex');
    const sent = await this.post('wallet/broadcasttransaction', { ...made, signature: [signature] });
    // After a retried request, the node may already have the transaction.
    if (sent['result'] !== true && sent['code'] !== 'DUP_TRANSACTION_ERROR')
      throw new Error(`${String(made['txID'])}: ${JSON.stringify(sent)}`);
    return made['txID'] as string;
  }

  /** Returns the receipt of a transaction once it is in a block. */
  async receipt(txid: string): Promise<Json> {
    return until(
      async () => {
        const info = await this.post('wallet/gettransactioninfobyid', { value: txid });
        return info['id'] === undefined ? undefined : info;
      },
      INCLUSION_LIMIT_MS,
      `the inclusion of ${txid}`,
    );
  }

  /**
   * Sends a transaction until one is in a block: each one that a fork dropped is replaced by a new one. Returns all
   * ids. Throws with the node's message.
   */
  async sendUntilIncluded(path: string, body: Json, signer: ChainAccount): Promise<readonly string[]> {
    const txids: string[] = [];
    for (;;) {
      const deadAtMs = (await this.headTime()) + VALIDITY_MS;
      const txid = await this.send(path, body, signer);
      txids.push(txid);
      const isIn = async (): Promise<boolean | undefined> => {
        const info = await this.post('wallet/gettransactioninfobyid', { value: txid });
        if (info['id'] !== undefined) return true;
        return (await this.headTime()) > deadAtMs ? false : undefined;
      };
      if (await until(isIn, INCLUSION_LIMIT_MS, `the inclusion of ${txid}`)) return txids;
      if (txids.length === SENDS_MAX) throw new Error(`${txids.join(', ')}: none was included`);
    }
  }

  async energyOf(address: string): Promise<{ limit: number; used: number }> {
    const resources = await this.post('wallet/getaccountresource', { address, visible: true });
    return { limit: Number(resources['EnergyLimit'] ?? 0), used: Number(resources['EnergyUsed'] ?? 0) };
  }

  /** Returns the timestamp of the head block, ms. */
  async headTime(): Promise<number> {
    const block = (await this.post('wallet/getnowblock', {})) as {
      block_header: { raw_data: { timestamp: number } };
    };
    return block.block_header.raw_data.timestamp;
  }

  /** Sends `amount` units of a TRC20 token and returns the receipt. */
  async transferToken(token: string, from: ChainAccount, to: string, amount: bigint, feeLimit: number): Promise<Json> {
    const txid = await this.send(
      'triggersmartcontract',
      {
        owner_address: from.address,
        contract_address: token,
        function_selector: 'transfer(address,uint256)',
        parameter: transferParameter(to, amount),
        fee_limit: feeLimit,
      },
      from,
    );
    return this.receipt(txid);
  }
}

/** Returns the ABI-encoded arguments of transfer(address,uint256). */
export function transferParameter(to: string, amount: bigint): string {
  return addressToHex(to).slice(2).padStart(64, '0') + amount.toString(16).padStart(64, '0');
}
