/**
 * Sealers of a process that shows a new secret once and cannot open it later. It seals to the public keys that are
 * stored with the canaries. The key is read for each secret, so that the newest one is used.
 */
import { BoxSealer } from '../support/sealed-box.js';
import type { BoxPurpose, SealKeys, SealPurpose, Seals } from '../support/seal.js';
import { Sealers } from '../support/sealers.js';
import { OperatorError } from '../../domain/operator-error.js';
import type { Queryable } from './database.js';

const READ = {
  name: 'read_public_key',
  text: `SELECT public_key FROM key_canary WHERE purpose = $1 AND public_key IS NOT NULL`,
};

export class PublicSealers extends Sealers {
  /** `sealKeys`: keys with which this process may also open secrets. */
  constructor(
    private readonly database: () => Queryable,
    keys: { readonly sealKeys: ReadonlyMap<SealPurpose, SealKeys> },
  ) {
    super(keys);
  }

  /** Throws OperatorError while no process that holds the key has published its public half. */
  override async sealing(purpose: BoxPurpose): Promise<Seals> {
    const [row] = await this.database().query<{ public_key: Buffer }>(READ, [purpose]);
    if (row !== undefined) return new BoxSealer(row.public_key);
    throw new OperatorError(`Nothing can be sealed for ${purpose} yet: run \`migrate\` with MASTER_KEY once.`);
  }
}
