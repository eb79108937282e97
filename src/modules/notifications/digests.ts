/** Collects the events of a project since a person's last mail: the first ones as lines, and their total number. */
import { Injectable } from '@nestjs/common';
import { EventLog } from '../events/event-log.js';
import { Database } from '../../platform/database/database.js';
import { forProject } from '../../platform/database/project-scope.js';
import { typesOf } from './event-kinds.js';
import type { MailClaim, Reached } from './mail-claims.js';
import { lineOf, LINES_MAX, type MailLine } from './mail-text.js';

/** Events per page and pages per mail. The rest goes into the next mail. */
const PAGE = 1000;
const PAGES_MAX = 50;

export interface Digest {
  readonly about: string;
  readonly isTest: boolean;
  readonly lines: readonly MailLine[];
  /** Including those in the lines. */
  readonly count: number;
  readonly reached: Reached;
}

@Injectable()
export class Digests {
  constructor(
    private readonly database: Database,
    private readonly log: EventLog,
  ) {}

  /** Reads the project's log after the claim's position. Skips events that are no longer kept. */
  async ofProject(projectId: string, claim: MailClaim): Promise<Digest> {
    return forProject(projectId, async () => {
      const types = typesOf(claim.kinds);
      const lines: MailLine[] = [];
      let [count, after] = [0, claim.position];
      for (let page = 0; page < PAGES_MAX; page += 1) {
        const read = await this.log.read(projectId, after, types, PAGE);
        if ('oldestPosition' in read) {
          after = read.oldestPosition - 1n;
          continue;
        }
        for (const { payload } of read.items) {
          const line = lines.length < LINES_MAX ? lineOf(payload, projectId) : undefined;
          if (line !== undefined) lines.push(line);
        }
        count += read.items.length;
        after = read.lastPosition;
        if (!read.hasMore) break;
      }
      return { ...(await this.projectOf(projectId)), lines, count, reached: { position: after, noted: [] } };
    });
  }

  private async projectOf(projectId: string): Promise<Pick<Digest, 'about' | 'isTest'>> {
    const [row] = await this.database.query<{ name: string; test: boolean }>(
      `SELECT name, test FROM project WHERE id = $1`,
      [projectId],
    );
    return { about: row?.name ?? 'Your project', isTest: row?.test ?? false };
  }
}
