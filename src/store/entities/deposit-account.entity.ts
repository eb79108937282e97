/** A deposit account (its number in m/44'/195'/n') and the addresses assigned from it. Written by `deposits` alone. */
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { BIGINT, TIMESTAMPTZ } from '../columns.js';

@Entity('deposit_account')
export class DepositAccount {
  @PrimaryColumn(BIGINT)
  account!: bigint;

  /** 0/0: the key of the settings must give it again. */
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

  /** Of 0/place. */
  @Column(BIGINT)
  place!: bigint;

  /** The server that it was assigned on, as server_mark() says it. */
  @Column({ type: 'text', name: 'server_mark', nullable: true, default: () => 'server_mark()' })
  serverMark!: string | null;

  @Column({ ...TIMESTAMPTZ, name: 'created_at' })
  createdAt!: Date;
}
