/**
 * Seals every secret again under MASTER_KEY while the service runs. The service that owns a table reseals its secrets.
 */
import { Injectable } from '@nestjs/common';
import { Sealers } from '../../platform/support/sealers.js';
import { SecondFactors } from '../people/second-factors.js';
import { PoolWallets } from '../pool/pool-wallets.js';
import { ApiKeys } from '../projects/api-keys.js';
import { Projects } from '../projects/projects.js';
import { recordAct, type Author } from '../../platform/database/audit-log.js';
import { Database } from '../../platform/database/database.js';
import { resealCanaries } from '../../platform/database/key-canaries.js';
import { addCounts, type KindCount } from '../../platform/database/resealing.js';
import { Webhooks } from '../webhooks/webhooks.js';

@Injectable()
export class KeyRewrap {
  constructor(
    private readonly database: Database,
    private readonly sealers: Sealers,
    private readonly projects: Projects,
    private readonly keys: ApiKeys,
    private readonly wallets: PoolWallets,
    private readonly webhooks: Webhooks,
    private readonly factors: SecondFactors,
  ) {}

  async run(act: Author): Promise<KindCount[]> {
    const counts = await this.reseal(true);
    const detail = Object.fromEntries(counts.map(({ what, ...count }) => [what, count]));
    await this.database.transaction((tx) =>
      recordAct(tx, act, { action: 'keys.rewrap', subject: 'MASTER_KEY', detail }),
    );
    return counts;
  }

  /** Returns the counts that a run would have. Changes nothing. */
  async countSecrets(): Promise<KindCount[]> {
    return this.reseal(false);
  }

  /** Reseals the canaries last: from then on, a process with only the older key refuses to start. */
  private async reseal(isReplacing: boolean): Promise<KindCount[]> {
    const primary = await this.projects.resealKeys(isReplacing);
    const further = await this.keys.resealKeys(isReplacing);
    return [
      { what: 'api keys', ...addCounts([primary, further]) },
      { what: 'pool keys', ...(await this.wallets.resealKeys(isReplacing)) },
      { what: 'webhook secrets', ...(await this.webhooks.resealSecrets(isReplacing)) },
      { what: 'second factors', ...(await this.factors.reseal(isReplacing)) },
      { what: 'canaries', ...(await resealCanaries(this.database, this.sealers.held, isReplacing)) },
    ];
  }
}
