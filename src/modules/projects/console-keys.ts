/**
 * The key that pays for a project's purchases in the console. Its daily cap is the cap of all of them, and without one
 * nothing can be bought there. Its secret is known to no one: it signs no request.
 */
import { Injectable } from '@nestjs/common';
import { IsNull } from 'typeorm';
import { Sealers } from '../../platform/support/sealers.js';
import { OperatorError } from '../../domain/operator-error.js';
import { KEYS_MAX } from '../../domain/scopes.js';
import type { Credits } from '../../domain/units.js';
import { recordAct, type Author } from '../../platform/database/audit-log.js';
import { Database } from '../../platform/database/database.js';
import { ApiKey } from '../../platform/database/entities/api-key.entity.js';
import { LOCK_PROJECT, newApiKey, recordKeyEvent, tooManyKeys } from './api-keys.js';
import { consoleKeyId } from './console-key-id.js';

/** As lists of keys, order pages and the ledger show it. */
const NAME = 'Console purchases';

@Injectable()
export class ConsoleKeys {
  constructor(
    private readonly database: Database,
    private readonly sealers: Sealers,
  ) {}

  /**
   * Sets the most that purchases in the console may spend in a UTC day; undefined revokes the key, which ends them.
   * Throws OperatorError without a project, and for an eleventh key.
   */
  async setCap(projectId: string, cap: Credits | undefined, act: Author): Promise<void> {
    const id = consoleKeyId(projectId);
    const seals = await this.sealers.sealing('api-key');
    await this.database.transaction(async (tx) => {
      const [project] = await tx.query<{ test: boolean }>(LOCK_PROJECT, [projectId]);
      if (project === undefined) throw new OperatorError(`There is no project ${projectId}.`, 1, 'NOT_FOUND');
      const keys = tx.repository(ApiKey);
      const known = await keys.findOne({ select: { id: true, revokedAt: true }, where: { id } });
      const isOpen = known?.revokedAt === null;
      if (cap === undefined && !isOpen) return;
      await recordAct(tx, act, {
        action: 'key.console_cap',
        subject: projectId,
        detail: { key: id, credits: cap ?? 'none' },
      });
      if (cap === undefined) {
        await keys.update({ id }, { revokedAt: () => 'clock_timestamp()' });
        await recordKeyEvent(tx, id, 'revoked');
        return;
      }
      if (isOpen) {
        await keys.update({ id }, { dailyCapCredits: cap });
        return;
      }
      const count = await keys.countBy({ projectId, revokedAt: IsNull() });
      if (count >= KEYS_MAX) throw tooManyKeys();
      if (known === null) {
        const sealed = seals.seal(Buffer.from(newApiKey(project.test)), id);
        await keys.insert({ id, projectId, name: NAME, scopes: ['order'], sealed, dailyCapCredits: cap });
      } else await keys.update({ id }, { dailyCapCredits: cap, revokedAt: null });
      await recordKeyEvent(tx, id, 'created');
    });
  }
}
