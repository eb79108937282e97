/**
 * The key that pays for a project's purchases in the console. Its daily cap limits all of them together. Without the
 * key, nothing can be bought there. Its secret is never shown, so it signs no request.
 */
import { Injectable } from '@nestjs/common';
import { Sealers } from '../../platform/support/sealers.js';
import type { Credits } from '../../domain/units.js';
import { recordAct, type Author } from '../../platform/database/audit-log.js';
import { Database } from '../../platform/database/database.js';
import { ApiKey } from '../../platform/database/entities/api-key.entity.js';
import { consoleKeyId } from './console-key-id.js';
import { lockProject, newApiKey, recordKeyEvent, requireRoomForKey } from './key-rows.js';

/** The key's name in lists of keys, on order pages and in the ledger. */
const NAME = 'Console purchases';

@Injectable()
export class ConsoleKeys {
  constructor(
    private readonly database: Database,
    private readonly sealers: Sealers,
  ) {}

  /**
   * Sets the credits that purchases in the console may spend in a UTC day. Undefined revokes the key, which ends such
   * purchases. Throws OperatorError if the project does not exist, and for an eleventh key.
   */
  async setCap(projectId: string, cap: Credits | undefined, act: Author): Promise<void> {
    const id = consoleKeyId(projectId);
    const seals = await this.sealers.sealing('api-key');
    await this.database.transaction(async (tx) => {
      const project = await lockProject(tx, projectId);
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
      await requireRoomForKey(tx, projectId, id);
      if (known === null) {
        const sealed = seals.seal(Buffer.from(newApiKey(project.test)), id);
        await keys.insert({ id, projectId, name: NAME, scopes: ['order'], sealed, dailyCapCredits: cap });
      } else await keys.update({ id }, { dailyCapCredits: cap, revokedAt: null });
      await recordKeyEvent(tx, id, 'created');
    });
  }
}
