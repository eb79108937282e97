/**
 * The only writer of the project table: new projects, their keys and options. The ledger owns money and terms. An API
 * key is returned once, when it is made, and sealed at rest.
 */
import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Repository } from 'typeorm';
import { Ledger, type BillingTerms } from '../billing/ledger.js';
import { DepositAddresses } from '../deposits/deposit-addresses.js';
import type { Credits } from '../../domain/units.js';
import type { SignatureSchemes } from '../../domain/scopes.js';
import {
  keepPreviousSecret,
  lockProject,
  newApiKey,
  noSuchProject,
  recordKeyEvent,
  requireRoomForKey,
} from './key-rows.js';
import { Sealers } from '../../platform/support/sealers.js';
import { recordAct, type Author } from '../../platform/database/audit-log.js';
import { Database, type Transaction } from '../../platform/database/database.js';
import { Project } from '../../platform/database/entities/project.entity.js';
import { projectNames } from '../../platform/database/project-names.js';
import { reseal, secretsIn, type ResealCount } from '../../platform/database/resealing.js';

/** A project with its terms, as an operator sees it. */
export interface ProjectView {
  readonly id: string;
  readonly name: string;
  readonly frozen: boolean;
  readonly test: boolean;
  readonly is_postpaid: boolean;
  readonly balance_credits: Credits;
  /** Null: postpaid without a limit. */
  readonly floor_credits: Credits | null;
  readonly daily_cap_credits: Credits | null;
  /** Threshold of the event `balance.low`; null means never. */
  readonly low_balance_credits: Credits | null;
  readonly require_idempotency_key: boolean;
  readonly signature_schemes: SignatureSchemes;
  readonly require_quote: boolean;
  readonly allowed_sources: string[];
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** Filters of the operator's project list. */
export const PROJECT_STATES = ['live', 'test', 'frozen'] as const;
export type ProjectState = (typeof PROJECT_STATES)[number];

interface ProjectFilter {
  /** Prefix of the name, case-insensitive. */
  readonly name?: string | undefined;
  readonly state?: ProjectState | undefined;
  /** The last project of the previous page. */
  readonly after?: string | undefined;
}

/** The options of a project; absent members are not changed. */
export interface ProjectOptions {
  readonly signatureSchemes?: SignatureSchemes;
  readonly requireIdempotencyKey?: boolean;
  readonly requireQuote?: boolean;
  /** Addresses and CIDR ranges that may call; empty means any. */
  readonly allowedSources?: string[];
}

/** Changes of a project. Absent members are not changed; null lifts a limit. */
export interface ProjectChanges extends ProjectOptions {
  readonly name?: string;
  readonly dailyCapCredits?: Credits | null;
  /** The threshold of the event `balance.low`. */
  readonly lowBalanceCredits?: Credits | null;
}

/** Reads options and terms, from two tables, in one statement. */
const VIEW_COLUMNS = `p.id, p.name, a.frozen, p.test, a.is_postpaid, a.balance_credits, a.floor_credits, a.daily_cap_credits,
  a.low_balance_credits, p.signature_schemes, p.require_idempotency_key, p.require_quote, p.allowed_sources, p.created_at, p.updated_at`;
const PROJECTS_MAX = 10_000;

@Injectable()
export class Projects {
  constructor(
    private readonly database: Database,
    private readonly sealers: Sealers,
    private readonly ledger: Ledger,
    private readonly depositAddresses: DepositAddresses,
  ) {}

  /** Creates a project with a new key and an empty account in one transaction. `isTest` can never change. */
  async create(
    name: string,
    terms: BillingTerms,
    act: Author,
    isTest = false,
  ): Promise<{ id: string; apiKey: string }> {
    const id = randomUUID();
    const apiKey = newApiKey(isTest);
    const apiKeySealed = await this.seal(id, apiKey);
    await this.database.transaction(async (tx) => {
      await tx.repository(Project).insert({ id, name, apiKeySealed, isTest });
      await recordAct(tx, act, { action: 'project.create', subject: id, detail: { name, ...(isTest && { isTest }) } });
      await this.ledger.createAccount(tx, id, terms, act);
      if (!isTest) await this.depositAddresses.assignNew(tx, id);
    });
    return { id, apiKey };
  }

  async list(): Promise<ProjectView[]> {
    return this.database.query<ProjectView>(
      `SELECT ${VIEW_COLUMNS} FROM project p JOIN credit_account a ON a.project_id = p.id
        ORDER BY p.created_at, p.id LIMIT $1`,
      [PROJECTS_MAX],
    );
  }

  /**
   * Returns up to `limit` projects of a filter, newest first. Only the answer is bounded: no index has projects by
   * time, so each page scans the table, which has one short row per customer.
   */
  async page({ name, state, after }: ProjectFilter, limit: number): Promise<ProjectView[]> {
    return this.database.query<ProjectView>(
      `SELECT ${VIEW_COLUMNS} FROM project p JOIN credit_account a ON a.project_id = p.id
        WHERE ($1::text IS NULL OR starts_with(lower(p.name), lower($1)))
          AND ($2::uuid IS NULL OR (p.created_at, p.id) < (SELECT created_at, id FROM project WHERE id = $2))
          AND CASE $4::text WHEN 'live' THEN NOT p.test AND NOT a.frozen WHEN 'test' THEN p.test WHEN 'frozen' THEN a.frozen ELSE true END
        ORDER BY p.created_at DESC, p.id DESC LIMIT $3`,
      [name ?? null, after ?? null, limit, state ?? null],
    );
  }

  /** Returns the names of the projects with these ids. Omits unknown ids. */
  async namesOf(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return projectNames(this.database, ids);
  }

  /** Throws OperatorError if the project does not exist. */
  async get(id: string): Promise<ProjectView> {
    const [found] = await this.database.query<ProjectView>(
      `SELECT ${VIEW_COLUMNS} FROM project p JOIN credit_account a ON a.project_id = p.id WHERE p.id = $1`,
      [id],
    );
    if (found === undefined) throw noSuchProject(id);
    return found;
  }

  /**
   * Replaces the primary API key. The old one stops verifying immediately, within 30 s at worst (docs/interface.md §2),
   * or after `overlapSec`. A revoked primary becomes active again. Throws OperatorError if ten other keys are active, or
   * for an overlap while an earlier one runs.
   */
  async rotateKey(id: string, act: Author, overlapSec = 0): Promise<string> {
    const seals = await this.sealers.sealing('api-key');
    return this.database.transaction(async (tx) => {
      const project = await lockProject(tx, id);
      await requireRoomForKey(tx, id, id);
      const apiKey = newApiKey(project.test);
      await keepPreviousSecret(tx, id, overlapSec);
      // A trigger updates the primary's row from its project's.
      await update(tx, id, { apiKeySealed: seals.seal(Buffer.from(apiKey), id) });
      await recordAct(tx, act, { action: 'project.rotate-key', subject: id, detail: { overlapSec } });
      await recordKeyEvent(tx, id, 'rotated');
      return apiKey;
    });
  }

  /** Makes all changes or, when one fails, none. Each kind is an act of its own. */
  async change(id: string, changes: ProjectChanges, act: Author): Promise<void> {
    const { name, dailyCapCredits: cap, lowBalanceCredits: low, ...options } = changes;
    await this.database.transaction(async (tx) => {
      const project = await lockProject(tx, id);
      if (name !== undefined && name !== project.name) {
        await update(tx, id, { name });
        await recordAct(tx, act, { action: 'project.rename', subject: id, detail: { name, before: project.name } });
      }
      if (Object.keys(options).length > 0) {
        await update(tx, id, options);
        await recordAct(tx, act, { action: 'project.options', subject: id, detail: { ...options } });
      }
      if (cap !== undefined) await this.ledger.setDailyCap(id, cap ?? undefined, act, tx);
      if (low !== undefined) await this.ledger.setLowBalance(id, low ?? undefined, act, tx);
    });
  }

  /** Reseals every primary API key under the newest key. Only counts them unless `isReplacing`. */
  async resealKeys(isReplacing: boolean): Promise<ResealCount> {
    return reseal(secretsIn(this.database, 'project', 'api_key_sealed'), this.sealers.apiKey, isReplacing);
  }

  private async seal(id: string, apiKey: string): Promise<Buffer> {
    return (await this.sealers.sealing('api-key')).seal(Buffer.from(apiKey, 'utf8'), id);
  }
}

type Changes = Parameters<Repository<Project>['update']>[1];

async function update(tx: Transaction, id: string, changes: Changes): Promise<void> {
  const { affected } = await tx.repository(Project).update({ id }, { ...changes, updatedAt: () => 'now()' });
  if (affected !== 1) throw noSuchProject(id);
}
