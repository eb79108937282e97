/**
 * Requests of consoles for explanations. A console asks no node: it writes a request, and a worker answers within
 * seconds.
 */
import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ApiError } from '../../domain/errors.js';
import { Database } from '../../platform/database/database.js';
import type { ExplanationBody } from './explain.dto.js';

/**
 * Requests of one project, or of all operators together, that wait or came within a minute. Their reads share the
 * request limit of the nodes with fulfilment.
 */
const RECENT_MAX = 20;
const RETRY_SEC = 30;

/** `found` false: no node knows the transaction, or it concerns no order of the project. `error`: an error's code. */
export interface ExplanationState {
  readonly isAnswered: boolean;
  readonly answer: ExplanationBody | undefined;
  readonly error: string | undefined;
}

/** $1 id, $2 project or null for an operator, $3 transaction, $4 limit of recent requests. */
export const ASK = {
  name: 'ask_explanation',
  text: `INSERT INTO explanation_request (id, project_id, txid)
    SELECT $1, $2::uuid, $3 WHERE (SELECT count(*) FROM (SELECT FROM explanation_request
      WHERE project_id IS NOT DISTINCT FROM $2::uuid AND (answered_at IS NULL OR requested_at
        BETWEEN statement_timestamp() - interval '1 minute' AND statement_timestamp() + interval '1 minute') LIMIT $4) recent) < $4
    RETURNING id`,
};

const FIND = {
  name: 'find_explanation',
  text: `SELECT answered_at IS NOT NULL AS is_answered, answer, error FROM explanation_request
    WHERE id = $1 AND project_id IS NOT DISTINCT FROM $2::uuid`,
};

@Injectable()
export class ExplanationRequests {
  constructor(private readonly database: Database) {}

  /**
   * Asks for the explanation of a transaction (64 hex digits) by the orders of a project, or of all projects. Returns
   * the request's id. Throws 429 RATE_LIMITED beyond 20 a minute, and while 20 wait.
   */
  async ask(projectId: string | undefined, txid: string): Promise<string> {
    const params = [randomUUID(), projectId ?? null, Buffer.from(txid, 'hex'), RECENT_MAX];
    const [asked] = await this.database.query<{ id: string }>(ASK, params);
    if (asked === undefined) {
      throw new ApiError('RATE_LIMITED', 'A project gets 20 explanations a minute. Try again in half a minute.', {
        retryAfterSec: RETRY_SEC,
      });
    }
    return asked.id;
  }

  /** Returns the state of a request; undefined if the project has none of this id. */
  async find(projectId: string | undefined, id: string): Promise<ExplanationState | undefined> {
    const [row] = await this.database.query<{
      is_answered: boolean;
      answer: ExplanationBody | null;
      error: string | null;
    }>(FIND, [id, projectId ?? null]);
    if (row === undefined) return undefined;
    return { isAnswered: row.is_answered, answer: row.answer ?? undefined, error: row.error ?? undefined };
  }
}
