// A wallet-like client of a devnet: builds at the node, signs here, broadcasts. It uses no source of the devnet.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import secp256k1 from 'secp256k1';
import { TronWeb } from 'tronweb';
import { type Devnet, type DevnetOptions, startDevnet } from '../setup/devnet.js';

export type Answer = Record<string, unknown>;
export interface Key {
  readonly secret: string;
  readonly address: string;
  /** 42 hex characters. */
  readonly hex: string;
}
export interface Unsigned extends Answer {
  readonly txID: string;
  readonly raw_data: Answer;
}
export interface Sent {
  readonly txId: string;
  readonly answer: Answer;
}

const LIMIT_MS = 30_000;
export const TRX = 1_000_000;
export const TOKEN = JSON.parse(readFileSync('test/tron-node/bytecode.json', 'utf8')) as {
  readonly abi: readonly object[];
  readonly bytecode: string;
};

export function keyOf(name: string): Key {
  const secret = createHash('sha256').update(`devnet-${name}`).digest('hex');
  const address = TronWeb.address.fromPrivateKey(secret);
  if (address === false) throw new Error('no address for the key');
  return { secret, address, hex: TronWeb.address.toHex(address).toLowerCase() };
}

export function sign(id: string, secret: string): string {
  const { signature, recid } = secp256k1.ecdsaSign(Buffer.from(id, 'hex'), Buffer.from(secret, 'hex'));
  return Buffer.from(signature).toString('hex') + (27 + recid).toString(16);
}

export function word(value: number | bigint): string {
  return BigInt(value).toString(16).padStart(64, '0');
}

export function addressWord(hex: string): string {
  return hex.slice(2).padStart(64, '0');
}

export interface ChainOptions extends Partial<DevnetOptions> {
  /** The version of java-tron that the chain behaves like; default: the newest. */
  readonly version?: string;
}

/** Starts a chain with `bank` (90 000 000 000 TRX) and `pool` (1 000 000 TRX) that makes a block only on request. */
export async function startChain({ version, ...options }: ChainOptions = {}): Promise<Client> {
  const genesis = {
    ...(version === undefined ? {} : { version }),
    accounts: [
      { address: keyOf('bank').address, balance: '90000000000000000' },
      { address: keyOf('pool').address, balance: 1_000_000 * TRX },
    ],
    ...options.genesis,
  };
  return new Client(await startDevnet({ blockMs: 0, ...options, genesis }));
}

export class Client {
  constructor(
    readonly node: Devnet,
    private readonly base: string = node.fullUrl,
  ) {}

  /** Returns the client on another node's full port. */
  at(url: string): Client {
    return new Client(this.node, url);
  }

  async text(path: string, body: unknown, base = this.base): Promise<string> {
    const response = await fetch(`${base}/${path}`, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      signal: AbortSignal.timeout(LIMIT_MS),
    });
    return response.text();
  }

  /** POST wallet/<path>, visible. */
  async post(path: string, body: object = {}): Promise<Answer> {
    return JSON.parse(await this.text(`wallet/${path}`, { visible: true, ...body })) as Answer;
  }

  async solid(path: string, body: object = {}): Promise<Answer> {
    const text = await this.text(`walletsolidity/${path}`, { visible: true, ...body }, this.node.solidUrl);
    return JSON.parse(text) as Answer;
  }

  async mine(count = 1): Promise<void> {
    await this.node.control('mine', { count });
  }

  /** Builds an unsigned transaction. Throws the node's refusal. */
  async build(path: string, body: object): Promise<Unsigned> {
    const made = await this.post(path, body);
    const tx = (made['transaction'] ?? made) as Unsigned;
    if (typeof tx.txID !== 'string') throw new Error(refusal(made));
    return tx;
  }

  async broadcast(tx: Unsigned, ...keys: readonly Key[]): Promise<Sent> {
    const signature = keys.map((k) => sign(tx.txID, k.secret));
    return { txId: tx.txID, answer: await this.post('broadcasttransaction', { ...tx, signature }) };
  }

  /** Builds, signs and broadcasts. Throws the refusal of either step. */
  async send(key: Key, path: string, body: object): Promise<string> {
    const sent = await this.broadcast(await this.build(path, { owner_address: key.address, ...body }), key);
    if (sent.answer['result'] !== true) throw new Error(refusal(sent.answer));
    return sent.txId;
  }

  /** Sends, makes one block, and returns the receipt. */
  async run(key: Key, path: string, body: object): Promise<Answer> {
    const txId = await this.send(key, path, body);
    await this.mine();
    return this.info(txId);
  }

  info(txId: string): Promise<Answer> {
    return this.post('gettransactioninfobyid', { value: txId });
  }

  account(key: Key): Promise<Answer> {
    return this.post('getaccount', { address: key.address });
  }

  resources(key: Key): Promise<Answer> {
    return this.post('getaccountresource', { address: key.address });
  }

  /** Deploys a contract and returns its base58 address. */
  async deploy(key: Key, bytecode: string, options: object = {}): Promise<string> {
    const info = await this.run(key, 'deploycontract', {
      abi: '[]',
      bytecode,
      name: 'Test',
      fee_limit: 1000 * TRX,
      consume_user_resource_percent: 100,
      origin_energy_limit: 10_000_000,
      ...options,
    });
    if (typeof info['contract_address'] !== 'string' || 'result' in info) throw new Error(JSON.stringify(info));
    return info['contract_address'];
  }
}

function refusal(answer: Answer): string {
  const message = answer['Error'] ?? answer['message'];
  return typeof message === 'string' ? message : JSON.stringify(answer);
}

/** Returns init code that leaves `runtime` (hex, up to 255 bytes) as the contract's code. */
export function deployerOf(runtime: string): string {
  const length = (runtime.length / 2).toString(16).padStart(2, '0');
  return `60${length}80600b6000396000f3${runtime}`;
}
