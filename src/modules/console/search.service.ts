/**
 * Finds exact matches of a text: transaction, address, key, number, id or request id. Each query uses an index, or is
 * bounded by the newest orders or the number of projects. Within a project every query is restricted to it, so that no
 * other project's data can be found. Reads only.
 */
import { Injectable } from '@nestjs/common';
import { maskedUrl } from '../../domain/masked-url.js';
import { isAddress } from '../../domain/base58-address.js';
import { Database } from '../../platform/database/database.js';
import { projectNames } from '../../platform/database/project-names.js';
import { STRETCH } from './lists.js';
import type { SearchAnswer, SearchHit } from './search-shapes.js';

const HITS_MAX = 20;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const TXID = /^(?:0x)?([0-9a-f]{64})$/i;
const NUMBER = /^(?:order_)?([1-9]\d{0,17})$/;
/** Limits matches by name. */
const NAMES_MAX = 10;

interface HitRow {
  readonly kind: SearchHit['kind'];
  readonly by: SearchHit['by'];
  readonly name: string;
  readonly says: string | null;
  readonly project_id: string;
  readonly at: Date | null;
}

/** `$1` is the searched value; `$2` the project, if there is one. */
interface Question {
  readonly text: string;
  readonly value: unknown;
}

@Injectable()
export class Search {
  constructor(private readonly database: Database) {}

  /** `projectId` undefined searches all projects, for operators. */
  async find(sought: string, projectId?: string): Promise<SearchAnswer> {
    const rows: HitRow[] = [];
    const isOne = projectId !== undefined;
    for (const { text, value } of questionsOf(sought.trim(), isOne)) {
      if (rows.length >= HITS_MAX) break;
      rows.push(
        ...(await this.database.query<HitRow>(
          scoped(text, isOne),
          projectId === undefined ? [value] : [value, projectId],
        )),
      );
    }
    const found = unique(rows).slice(0, HITS_MAX);
    const ids = found.map(({ project_id: id }) => id);
    const names = projectId === undefined ? await projectNames(this.database, ids) : undefined;
    return {
      newest_orders: STRETCH,
      items: found.map(({ kind, by, name, says, project_id: id, at }) => ({
        kind,
        by,
        name,
        ...(says !== null && { says: kind === 'webhook' ? maskedUrl(says) : says }),
        ...(names?.has(id) === true && { project: { id, name: names.get(id) ?? '' } }),
        ...(at !== null && { at: at.toISOString() }),
      })),
    };
  }
}

/** Chooses queries by the form of the text, to skip impossible ones. A key or a reference may have any form. */
function questionsOf(sought: string, isOne: boolean): Question[] {
  const words = byWord(isOne).map((text) => ({ text, value: sought }));
  const txid = TXID.exec(sought)?.[1];
  if (txid !== undefined) {
    const value = Buffer.from(txid, 'hex');
    return [...BY_TXID.map((text) => ({ text, value })), ...words];
  }
  if (isAddress(sought)) return [...byAddress(isOne).map((text) => ({ text, value: sought })), ...words];
  const number = NUMBER.exec(sought)?.[1];
  const deposit = /^dep_([1-9]\d{0,17})$/.exec(sought)?.[1];
  return [
    ...(UUID.test(sought) ? byId(isOne).map((text) => ({ text, value: sought.toLowerCase() })) : []),
    ...(deposit === undefined ? [] : [{ text: DEPOSIT_BY_NUMBER, value: BigInt(deposit) }]),
    ...words,
    ...(number === undefined ? [] : [{ text: ORDER_BY_NUMBER, value: BigInt(number) }]),
  ];
}

/** Replaces `{column}` by the project's condition; for operators it is always true. */
const scoped = (text: string, isOne: boolean): string =>
  text.replaceAll(/\{([a-z_.]+)\}/g, (_, column: string) => (isOne ? [column, '= $2'].join(' ') : 'true'));
const LIMIT = `LIMIT ${HITS_MAX.toString()}`;
const NEWEST = `LIMIT ${STRETCH.toString()}`;
const NAMES = `LIMIT ${NAMES_MAX.toString()}`;

const BY_TXID = [
  `SELECT 'order' AS kind, 'txid' AS by, o.key AS name, t.purpose AS says, o.project_id, o.created_at AS at
       FROM chain_tx t JOIN orders o ON o.id = t.order_id WHERE t.txid = $1::bytea AND {o.project_id} ${LIMIT}`,
  `SELECT 'deposit' AS kind, 'txid' AS by, 'dep_' || id AS name, asset AS says, project_id, seen_at AS at
       FROM deposit WHERE txid = $1::bytea AND {project_id} ${LIMIT}`,
];

function byAddress(isOne: boolean): string[] {
  return [
    `SELECT 'auto_delegation' AS kind, 'address' AS by, address AS name, NULL AS says, project_id, created_at AS at
       FROM auto_delegation WHERE address = $1 AND {project_id} ${LIMIT}`,
    `SELECT 'deposit_address' AS kind, 'address' AS by, address AS name, NULL AS says, project_id, created_at AS at
       FROM deposit_address WHERE address = $1 AND {project_id}`,
    isOne
      ? `SELECT 'receiver' AS kind, 'address' AS by, receive_address AS name, NULL AS says, project_id, created_at AS at
           FROM orders WHERE receive_address = $1 AND project_id = $2 ORDER BY created_at DESC, id DESC LIMIT 1`
      : `SELECT 'receiver' AS kind, 'address' AS by, o.receive_address AS name, NULL AS says, p.id AS project_id, o.created_at AS at
           FROM project p CROSS JOIN LATERAL (SELECT receive_address, created_at FROM orders
             WHERE receive_address = $1 AND project_id = p.id ORDER BY created_at DESC, id DESC LIMIT 1) o
          ORDER BY o.created_at DESC ${LIMIT}`,
    ...(isOne
      ? []
      : [
          `SELECT 'wallet' AS kind, 'address' AS by, address AS name, role AS says, NULL AS project_id, created_at AS at
             FROM pool_wallet WHERE address = $1`,
        ]),
  ];
}

function byId(isOne: boolean): string[] {
  return [
    `SELECT 'api_key' AS kind, 'id' AS by, id::text AS name, name AS says, project_id, created_at AS at
       FROM api_key WHERE id = $1::uuid AND {project_id}`,
    `SELECT 'webhook' AS kind, 'id' AS by, id::text AS name, url AS says, project_id, created_at AS at
       FROM webhook_endpoint WHERE id = $1::uuid AND deleted_at IS NULL AND {project_id}`,
    ...(isOne
      ? []
      : [
          `SELECT 'project' AS kind, 'id' AS by, id::text AS name, name AS says, id AS project_id, created_at AS at
             FROM project WHERE id = $1::uuid`,
        ]),
  ];
}

/**
 * Searches an order's key, reference or request id, and the request id of a refused request. Also searches the name of
 * a key, or of a project for operators. The inner LIMIT makes Postgres use each project's index; a plain join would
 * read the index of all orders.
 */
function byWord(isOne: boolean): string[] {
  return [
    isOne
      ? `SELECT 'order' AS kind, 'key' AS by, key AS name, NULL AS says, project_id, created_at AS at
           FROM orders WHERE project_id = $2 AND key = $1`
      : `SELECT 'order' AS kind, 'key' AS by, o.key AS name, NULL AS says, p.id AS project_id, o.created_at AS at
           FROM project p CROSS JOIN LATERAL (SELECT key, created_at FROM orders WHERE project_id = p.id AND key = $1 LIMIT 1) o
          ORDER BY o.created_at DESC ${LIMIT}`,
    isOne
      ? `SELECT 'order' AS kind, 'reference' AS by, key AS name, NULL AS says, project_id, created_at AS at
           FROM orders WHERE project_id = $2 AND reference = $1 ORDER BY created_at DESC, id DESC ${LIMIT}`
      : `SELECT 'order' AS kind, 'reference' AS by, o.key AS name, NULL AS says, p.id AS project_id, o.created_at AS at
           FROM project p CROSS JOIN LATERAL (SELECT key, created_at FROM orders
             WHERE project_id = p.id AND reference = $1 ORDER BY created_at DESC, id DESC ${LIMIT}) o
          ORDER BY o.created_at DESC ${LIMIT}`,
    `SELECT 'order' AS kind, 'request_id' AS by, key AS name, NULL AS says, project_id, created_at AS at
       FROM (SELECT key, request_id, project_id, created_at FROM orders WHERE {project_id}
              ORDER BY id DESC ${NEWEST}) newest WHERE split_part(request_id, '~', 1) = $1 ${LIMIT}`,
    `SELECT 'refused_request' AS kind, 'request_id' AS by, request_id AS name, error || ': ' || reason AS says, project_id, at
       FROM (SELECT request_id, error, reason, project_id, at FROM refused_request WHERE {project_id}
              ORDER BY id DESC ${NEWEST}) newest WHERE request_id = $1 ${LIMIT}`,
    ...(isOne
      ? [
          `SELECT 'api_key' AS kind, 'name' AS by, id::text AS name, name AS says, project_id, created_at AS at
             FROM api_key WHERE project_id = $2 AND lower(name) = lower($1) ORDER BY created_at DESC ${NAMES}`,
        ]
      : [
          `SELECT 'project' AS kind, 'name' AS by, id::text AS name, name AS says, id AS project_id, created_at AS at
             FROM project WHERE starts_with(lower(name), lower($1)) ORDER BY created_at DESC ${NAMES}`,
        ]),
  ];
}

const ORDER_BY_NUMBER = `SELECT 'order' AS kind, 'number' AS by, key AS name, NULL AS says, project_id, created_at AS at
     FROM orders WHERE id = $1::bigint AND {project_id}`;

const DEPOSIT_BY_NUMBER = `SELECT 'deposit' AS kind, 'number' AS by, 'dep_' || id AS name, asset AS says, project_id, seen_at AS at
     FROM deposit WHERE id = $1::bigint AND {project_id}`;

/** Removes duplicates: one subject may match several queries. */
function unique(rows: readonly HitRow[]): HitRow[] {
  const seen = new Map(
    [...rows].reverse().map((row) => [[row.kind, row.name, row.project_id].join(' '), row] as const),
  );
  return rows.filter((row) => seen.get([row.kind, row.name, row.project_id].join(' ')) === row);
}
