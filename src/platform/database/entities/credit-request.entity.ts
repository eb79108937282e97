/** A request of one admin for credits, which another admin decides. Written by `billing/credit-requests.ts` alone. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Credits } from '../../../domain/units.js';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

@Entity('credit_request')
export class CreditRequest {
  /** Chosen by the requesting page, so that a repeated request creates one row. */
  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  @Column({ type: 'uuid', name: 'project_id' })
  projectId!: string;

  @Column({ type: 'text' })
  kind!: 'topup' | 'adjustment' | 'deposit' | 'refusal';

  @Column(BIGINT)
  credits!: Credits;

  @Column({ type: 'text' })
  reference!: string;

  @Column({ type: 'text' })
  reason!: string;

  @Column({ type: 'uuid', name: 'asked_by' })
  askedBy!: string;

  /** The e-mail address at the time of the request. */
  @Column({ type: 'text', name: 'asked_by_email' })
  askedByEmail!: string;

  @Column({ ...TIMESTAMPTZ, name: 'asked_at' })
  askedAt!: Date;

  @Column({ type: 'text' })
  status!: 'pending' | 'approved' | 'rejected';

  @Column({ type: 'uuid', name: 'decided_by', nullable: true })
  decidedBy!: string | null;

  @Column({ type: 'text', name: 'decided_by_email', nullable: true })
  decidedByEmail!: string | null;

  @Column({ ...TIMESTAMPTZ, name: 'decided_at', nullable: true })
  decidedAt!: Date | null;

  @Column({ type: 'text', name: 'decision_reason', nullable: true })
  decisionReason!: string | null;
}
