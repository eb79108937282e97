import { Sealer, type BoxPurpose, type SealKeys, type SealPurpose, type Seals } from './seal.js';

/** The sealers that a process holds, by purpose. */
export type HeldSealers = ReadonlyMap<SealPurpose, Sealer>;

/** One sealer for each purpose whose key this process holds. No sealer opens data sealed by another. */
export class Sealers {
  /** By purpose: all purposes with MASTER_KEY, otherwise those with a configured key. */
  readonly held: HeldSealers;

  constructor({ sealKeys }: { readonly sealKeys: ReadonlyMap<SealPurpose, SealKeys> }) {
    this.held = new Map([...sealKeys].map(([purpose, keys]) => [purpose, new Sealer(keys)]));
  }

  /**
   * Returns the seal for a new secret, here the held key. A process without the key uses public keys
   * (src/platform/database/public-sealers.ts).
   */
  async sealing(purpose: BoxPurpose): Promise<Seals> {
    return Promise.resolve(this.of(purpose));
  }

  get apiKey(): Sealer {
    return this.of('api-key');
  }

  get poolKey(): Sealer {
    return this.of('pool-key');
  }

  get quote(): Sealer {
    return this.of('quote');
  }

  get webhookSecret(): Sealer {
    return this.of('webhook-secret');
  }

  get secondFactor(): Sealer {
    return this.of('second-factor');
  }

  private of(purpose: SealPurpose): Sealer {
    const sealer = this.held.get(purpose);
    if (sealer === undefined) throw new Error(`this process holds no key for the purpose ${purpose}`);
    return sealer;
  }
}
