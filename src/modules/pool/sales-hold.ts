/**
 * Keeps the pool from selling beyond its own state. Holds wallets that disagree with the chain, and stops all sales
 * until the operator explains the findings. The only writer of sales_stop, explained_finding and a wallet's
 * `books_fault`. The wallet row's trigger derives its status from that column. Reclaims continue regardless.
 */
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { recordAct, type Author } from '../../platform/database/audit-log.js';
import { Database } from '../../platform/database/database.js';
import { ExplainedFinding } from '../../platform/database/entities/explained-finding.entity.js';
import { SalesStop } from '../../platform/database/entities/sales-stop.entity.js';

/** A finding as stored; facts are plain JSON. */
export interface KeptFinding {
  readonly check: string;
  readonly subject: string;
  readonly fingerprint: string;
  readonly facts: Readonly<Record<string, unknown>>;
  /** The largest amount that an explanation covers. */
  readonly amountMost?: bigint;
}

/** A process that lost the reconciliation lease judged old records, so it holds, frees and stops nothing. */
const UNDER_LEASE = `turn AS (SELECT FROM reconcile_state WHERE fence = $3::integer FOR NO KEY UPDATE)`;

/** One statement for all wallets: a wallet that is not named loses its hold. */
const HOLD = {
  name: 'hold_wallets',
  text: `WITH ${UNDER_LEASE}
  UPDATE pool_wallet w SET books_fault = v.fault
  FROM (SELECT p.id, f.fault FROM pool_wallet p LEFT JOIN unnest($1::integer[], $2::text[]) AS f(id, fault) ON f.id = p.id
         WHERE EXISTS (SELECT FROM turn) ORDER BY p.id FOR NO KEY UPDATE OF p) v
  WHERE v.id = w.id AND w.books_fault IS DISTINCT FROM v.fault RETURNING w.address, w.books_fault`,
};

const STOP = {
  name: 'stop_sales',
  text: `WITH ${UNDER_LEASE}
  INSERT INTO sales_stop AS s (reason, findings) SELECT $1, $2 FROM turn
  ON CONFLICT (id) DO UPDATE SET reason = excluded.reason, findings = excluded.findings
    WHERE s.reason <> excluded.reason RETURNING true`,
};

/** Ends the present reconciliation lease, because its judgement predates the explanation. */
const REVOKE_LEASE = `UPDATE reconcile_state SET fence = fence + 1`;

const EXPLAIN = `INSERT INTO explained_finding (fingerprint, check_name, subject, facts, actor, reason, amount)
  SELECT f.fingerprint, f.check_name, f.subject, f.facts, $5, $6, f.amount
    FROM unnest($1::text[], $2::text[], $3::text[], $4::jsonb[], $7::numeric[]) AS f(fingerprint, check_name, subject, facts, amount)
  ON CONFLICT (fingerprint) DO UPDATE SET facts = excluded.facts, actor = excluded.actor, reason = excluded.reason,
    amount = excluded.amount, explained_at = clock_timestamp()`;

const WITHDRAW = `DELETE FROM explained_finding WHERE fingerprint = ANY ($1::text[])
  RETURNING fingerprint, check_name, subject, amount::text`;

interface Withdrawn {
  readonly fingerprint: string;
  readonly check_name: string;
  readonly subject: string;
  readonly amount: string | null;
}

@Injectable()
export class SalesHold {
  constructor(
    private readonly database: Database,
    @InjectRepository(SalesStop) private readonly stops: Repository<SalesStop>,
    @InjectRepository(ExplainedFinding) private readonly findings: Repository<ExplainedFinding>,
  ) {}

  /**
   * Holds exactly these wallets because of the records, under the fence of the reconciliation lease. Returns the wallets
   * whose hold changed; null means that this hold is lifted.
   */
  async holdWallets(
    faults: ReadonlyMap<number, string>,
    fence: number,
  ): Promise<readonly { readonly address: string; readonly books_fault: string | null }[]> {
    return this.database.query(HOLD, [[...faults.keys()], [...faults.values()], fence]);
  }

  /**
   * Stops every sale until `explain`, under the fence of the reconciliation lease. Returns true if the stop or its
   * reason is new.
   */
  async stopSales(reason: string, findings: readonly KeptFinding[], fence: number): Promise<boolean> {
    const kept = findings.map(({ check, subject, fingerprint, facts }) => ({ check, subject, fingerprint, facts }));
    return (await this.database.query(STOP, [reason, JSON.stringify(kept), fence])).length > 0;
  }

  async currentStop(): Promise<SalesStop | undefined> {
    const [stop] = await this.stops.find();
    return stop;
  }

  /**
   * Records the operator's explanations; explained findings stop nothing any more. `resume` lifts the sale stop and the
   * holds on wallets. Findings without an explanation hold again at the reconciler's next pass.
   */
  async explain(findings: readonly KeptFinding[], author: Author, resume: boolean): Promise<void> {
    await this.database.transaction(async (tx) => {
      await tx.query(EXPLAIN, [
        findings.map((finding) => finding.fingerprint),
        findings.map((finding) => finding.check),
        findings.map((finding) => finding.subject),
        findings.map((finding) => JSON.stringify(finding.facts)),
        author.actor,
        author.reason,
        findings.map((finding) => finding.amountMost?.toString() ?? null),
      ]);
      for (const { fingerprint, check, subject, facts, amountMost } of findings) {
        await recordAct(tx, author, {
          action: 'verify.explain',
          subject: fingerprint,
          detail: {
            check,
            subject,
            facts,
            amountMost: amountMost ?? null,
          },
        });
      }
      if (!resume) return;
      await tx.query(REVOKE_LEASE);
      const stopped = await tx.query<Pick<SalesStop, 'reason'>>(`DELETE FROM sales_stop RETURNING reason`);
      await tx.query(`UPDATE pool_wallet SET books_fault = NULL WHERE books_fault IS NOT NULL`);
      await recordAct(tx, author, {
        action: 'verify.resume',
        subject: 'sales',
        detail: { stopped_for: stopped[0]?.reason ?? null },
      });
    });
  }

  /** Returns explained findings, newest first. */
  async explained(limit: number): Promise<ExplainedFinding[]> {
    return this.findings.find({ order: { explainedAt: 'DESC' }, take: limit });
  }

  /**
   * Withdraws explanations and returns those that existed. Findings that still disagree hold again at the reconciler's
   * next pass.
   */
  async withdraw(fingerprints: readonly string[], author: Author): Promise<readonly string[]> {
    return this.database.transaction(async (tx) => {
      const gone = await tx.query<Withdrawn>(WITHDRAW, [fingerprints]);
      for (const { fingerprint, check_name: check, subject, amount } of gone) {
        await recordAct(tx, author, {
          action: 'verify.withdraw',
          subject: fingerprint,
          detail: { check, subject, amount },
        });
      }
      return gone.map(({ fingerprint }) => fingerprint);
    });
  }
}
