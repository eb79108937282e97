/** Signs with the pool keys that are sealed in Postgres. Opened keys never leave this file. */
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { monotonicMs } from '../../platform/support/clock.js';
import { addressOfKey, Signer, signWithKey } from '../../platform/chain/keys.js';
import { Sealers } from '../../platform/support/sealers.js';
import { PoolWallet } from '../../platform/database/entities/pool-wallet.entity.js';

/** Lifetime of a cached opened key, and so the longest time that a removed key can still sign. */
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
    @InjectRepository(PoolWallet) private readonly wallets: Repository<PoolWallet>,
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
    const select = { keySealed: true, keyAddress: true };
    const row = await this.wallets.findOne({ select, where: { address: walletAddress } });
    if (!row?.keySealed) throw new Error('no key is stored for this wallet');
    const key = this.sealers.poolKey.open(row.keySealed, walletAddress);
    if (key === undefined) throw new Error('the key of this wallet cannot be decrypted with MASTER_KEY');
    if (addressOfKey(key) !== row.keyAddress) throw new Error('the key of this wallet differs from the recorded one');
    return { key, address: row.keyAddress, openedAtMs: monotonicMs() };
  }
}
