/** Answers the consoles' requests for explanations, in the worker. An answer only reads; two answers of one are equal. */
import { Injectable } from '@nestjs/common';
import { ApiError, messageOf } from '../../domain/errors.js';
import { Database } from '../../platform/database/database.js';
import { Log } from '../../platform/observability/logger.js';
import { RepeatedTask } from '../../platform/support/repeated-task.js';
import { ExplainService } from './explain.service.js';

const IDLE_MS = 1000;
const RETRY_MS = 5000;
/** Requests of one pass, which are answered concurrently. */
const BATCH = 4;
/** A worker that took a request this long ago has died. */
const TAKEN_SEC = 60;

/** Compares by distance, so that a clock that was set back delays no request. */
const TAKE = {
  name: 'take_explanations',
  text: `WITH due AS (SELECT id FROM explanation_request
      WHERE answered_at IS NULL AND (taken_at IS NULL OR abs(extract(epoch FROM clock_timestamp() - taken_at)) > $1)
      ORDER BY requested_at LIMIT $2 FOR UPDATE SKIP LOCKED)
    UPDATE explanation_request r SET taken_at = clock_timestamp() FROM due WHERE r.id = due.id
    RETURNING r.id, r.project_id, encode(r.txid, 'hex') AS txid`,
};

const ANSWER = {
  name: 'answer_explanation',
  text: `UPDATE explanation_request SET answered_at = clock_timestamp(), answer = $2::jsonb, error = $3
    WHERE id = $1 AND answered_at IS NULL`,
};

interface TakenRow {
  readonly id: string;
  readonly project_id: string | null;
  readonly txid: string;
}

@Injectable()
export class ExplanationAnswers extends RepeatedTask {
  constructor(
    private readonly database: Database,
    private readonly explainService: ExplainService,
    private readonly log: Log,
  ) {
    super(RETRY_MS, (error) => {
      log.warn({ fault: messageOf(error) }, 'failed to read requests for explanations');
    });
  }

  protected override async runOnce(): Promise<number> {
    return (await this.answerDue()) < BATCH ? IDLE_MS : 0;
  }

  /** Answers the oldest waiting requests. Returns their number. */
  async answerDue(): Promise<number> {
    const taken = await this.database.query<TakenRow>(TAKE, [TAKEN_SEC, BATCH]);
    await Promise.all(taken.map((request) => this.answer(request)));
    return taken.length;
  }

  private async answer({ id, project_id: projectId, txid }: TakenRow): Promise<void> {
    try {
      const found = await this.explainService.explain(projectId === null ? undefined : [projectId], txid);
      await this.database.query(ANSWER, [id, found === undefined ? null : JSON.stringify(found), null]);
    } catch (error) {
      this.log.warn({ txid, fault: messageOf(error) }, 'failed to explain a transaction');
      const code = error instanceof ApiError ? error.code : 'INTERNAL_ERROR';
      await this.database.query(ANSWER, [id, null, code]);
    }
  }
}
