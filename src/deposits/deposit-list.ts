/** Deposits as they are listed, newest first. */
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import type { DepositStatus } from '../domain/deposit-state.js';
import { Deposit } from '../store/entities/deposit.entity.js';

export interface DepositFilter {
  readonly merchant?: string;
  readonly status?: DepositStatus;
}

@Injectable()
export class DepositList {
  constructor(@InjectRepository(Deposit) private readonly deposits: Repository<Deposit>) {}

  async list({ merchant, status }: DepositFilter, limit: number): Promise<Deposit[]> {
    return this.deposits.find({
      where: { ...(merchant !== undefined && { projectId: merchant }), ...(status !== undefined && { status }) },
      order: { id: 'DESC' },
      take: limit,
    });
  }
}
