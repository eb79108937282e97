/** Each person's e-mail notification choices, per project or as an operator, and the state of their delivery. */
import { Injectable } from '@nestjs/common';
import type { Audience } from '../../domain/audience.js';
import { ApiError } from '../../domain/errors.js';
import type { NotificationKind } from '../../domain/notification-kinds.js';
import { EventLog } from '../events/event-log.js';
import { recordAct, type Author } from '../../platform/database/audit-log.js';
import { Database } from '../../platform/database/database.js';
import { forProject } from '../../platform/database/project-scope.js';

/** Clears the choices that the reader of a mail ended. */
const END = `UPDATE notification n SET kinds = '{}', changed_at = clock_timestamp()
    FROM membership m, person p WHERE n.membership_id = $1 AND m.id = n.membership_id AND p.id = m.person_id AND n.kinds <> '{}'
  RETURNING p.email, m.person_id, m.project_id`;
const IS_PROVEN = `SELECT address_proven_at IS NOT NULL AS proven FROM person WHERE id = $1`;

const LIST = `SELECT m.project_id, n.kinds, n.sent_at, n.failing_since, n.fault, n.given_up_at, n.given_up
  FROM membership m LEFT JOIN notification n ON n.membership_id = m.id
  WHERE m.person_id = $1 ORDER BY m.project_id LIMIT 1000`;

const MEMBERSHIP = `SELECT id FROM membership WHERE person_id = $1 AND project_id IS NOT DISTINCT FROM $2 FOR KEY SHARE`;

/** A person without choices so far starts with future events. A failing address is retried immediately. */
const CHOOSE = `INSERT INTO notification AS n (membership_id, audience, kinds, position) VALUES ($1, $2, $3, $4)
  ON CONFLICT (membership_id) DO UPDATE
    SET kinds = excluded.kinds, position = CASE WHEN n.kinds = '{}' THEN excluded.position ELSE n.position END,
        noted = CASE WHEN n.kinds = '{}' THEN '{}' ELSE n.noted END, changed_at = clock_timestamp(), due_at = clock_timestamp(),
        failures = 0, failing_since = NULL, fault = NULL, given_up_at = NULL, given_up = 0`;

/** The choices of one membership. Without choices, all but the project is null. */
export interface ChoiceRow {
  /** Null for the operators. */
  readonly project_id: string | null;
  readonly kinds: NotificationKind[] | null;
  readonly sent_at: Date | null;
  readonly failing_since: Date | null;
  readonly fault: string | null;
  readonly given_up_at: Date | null;
  /** Number of events, or lines of the inbox, that were finally not mailed. */
  readonly given_up: bigint | null;
}

@Injectable()
export class NotificationChoices {
  constructor(
    private readonly database: Database,
    private readonly log: EventLog,
  ) {}

  async list(personId: string): Promise<ChoiceRow[]> {
    return this.database.query<ChoiceRow>(LIST, [personId]);
  }

  /** Returns true if the person has proven access to the mailbox. Without proof nothing is mailed. */
  async isAddressProven(personId: string): Promise<boolean> {
    const [row] = await this.database.query<{ proven: boolean }>(IS_PROVEN, [personId]);
    return row?.proven === true;
  }

  /** Ends the mails of a membership, as its reader requested by the link in one. Does nothing if they have ended. */
  async endByMail(membershipId: bigint): Promise<void> {
    await this.database.transaction(async (tx) => {
      const [ended] = await tx.query<{ email: string; person_id: string; project_id: string | null }>(END, [
        membershipId,
      ]);
      if (ended === undefined) return;
      const author = { actor: ended.email, reason: 'by the link in a mail' };
      const subject = ended.project_id ?? ended.person_id;
      await recordAct(tx, author, { action: 'notifications.change', subject, detail: { kinds: [] } });
    });
  }

  /** Replaces the choices. Throws 404 for a project that the person is not in. */
  async choose(
    { personId, audience }: { readonly personId: string; readonly audience: Audience },
    projectId: string | undefined,
    kinds: readonly NotificationKind[],
    author: Author,
  ): Promise<void> {
    // Read before the choice is written, so that events in between are notified.
    const position =
      projectId === undefined ? 0n : await forProject(projectId, () => this.log.readLastPosition(projectId));
    await this.database.transaction(async (tx) => {
      const [membership] = await tx.query<{ id: bigint }>(MEMBERSHIP, [personId, projectId ?? null]);
      if (membership === undefined) throw new ApiError('NOT_FOUND', 'You are not in this project.');
      await tx.query(CHOOSE, [membership.id, audience, [...new Set(kinds)], position]);
      const act = { action: 'notifications.change', subject: projectId ?? personId, detail: { kinds } };
      await recordAct(tx, author, act);
    });
  }
}
