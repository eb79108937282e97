/** A deposit account (its number in m/44'/195'/n') and the addresses assigned from it. Written by `deposits` alone. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

@Entity('deposit_account')
export class DepositAccount {
  @PrimaryColumn(BIGINT)
  account!: bigint;

  /** The address at 0/0. The key in the settings must derive the same one. */
  @Column({ type: 'text', name: 'first_address' })
  firstAddress!: string;

  @Column({ ...TIMESTAMPTZ, name: 'created_at' })
  createdAt!: Date;
}

@Entity('deposit_address')
export class DepositAddress {
  @PrimaryColumn({ type: 'text' })
  address!: string;

  @Column({ type: 'uuid', name: 'project_id' })
  projectId!: string;

  @Column(BIGINT)
  account!: bigint;

  /** The index in the path 0/place. */
  @Column(BIGINT)
  place!: bigint;

  /** The value of server_mark() when the address was assigned. */
  @Column({ type: 'text', name: 'server_mark', nullable: true, default: () => 'server_mark()' })
  serverMark!: string | null;

  @Column({ ...TIMESTAMPTZ, name: 'created_at' })
  createdAt!: Date;
}
