/** Signs with the pool's keys as they lie sealed in Postgres. Opened keys never leave this file. */
import { Injectable } from '@nestjs/common';
import { monotonicMs } from '../base/clock.js';
import { addressOfKey, Signer, signWithKey } from '../chain/keys.js';
import { Sealers } from '../base/sealers.js';
import { Database } from '../store/database.js';

const FIND_KEY = {
  name: 'find_pool_key',
  text: `SELECT key_sealed, key_address FROM pool_wallet WHERE address = $1`,
};

/** How long an opened key is kept: one that an operator takes away signs no longer than this. */
const KEPT_MS = 10_000;

interface OpenKey {
  readonly key: Buffer;
  readonly address: string;
  readonly openedAtMs: number;
}

@Injectable()
export class Keyring extends Signer {
  private readonly keys = new Map<string, OpenKey>();

  constructor(
    private readonly database: Database,
    private readonly sealers: Sealers,
  ) {
    super();
  }

  async sign(walletAddress: string, rawData: Buffer, keyAddress: string): Promise<Buffer> {
    const known = this.keys.get(walletAddress);
    if (known?.address === keyAddress && monotonicMs() - known.openedAtMs < KEPT_MS) {
      return signWithKey(rawData, known.key);
    }
    this.keys.delete(walletAddress);
    const opened = await this.open(walletAddress);
    this.keys.set(walletAddress, opened);
    return signWithKey(rawData, opened.key);
  }

  private async open(walletAddress: string): Promise<OpenKey> {
    const [row] = await this.database.query<{ key_sealed: Buffer | null; key_address: string }>(FIND_KEY, [
      walletAddress,
    ]);
    if (row === undefined || row.key_sealed === null) throw new Error('no key is held for this wallet');
    const key = this.sealers.poolKey.open(row.key_sealed, walletAddress);
    if (key === undefined) throw new Error('the key of this wallet does not open under MASTER_KEY');
    if (addressOfKey(key) !== row.key_address) throw new Error('the key of this wallet is not the recorded one');
    return { key, address: row.key_address, openedAtMs: monotonicMs() };
  }
}
