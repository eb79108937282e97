/** The keys of this process, by what they are for. */
import { Sealer, type BoxPurpose, type SealKeys, type SealPurpose, type Seals } from './seal.js';

/** The sealers that a process holds, by purpose. */
export type HeldSealers = ReadonlyMap<SealPurpose, Sealer>;

/** A sealer for each purpose of which this process holds the key; none of them opens what another sealed. */
export class Sealers {
  /** By purpose: all of them under MASTER_KEY, otherwise those that were given. */
  readonly held: HeldSealers;

  constructor({ sealKeys }: { readonly sealKeys: ReadonlyMap<SealPurpose, SealKeys> }) {
    this.held = new Map([...sealKeys].map(([purpose, keys]) => [purpose, new Sealer(keys)]));
  }

  /** What seals a new secret: the key held here; a process that holds none has another way (store/public-sealers.ts). */
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
