/** Decisions on held deposits: one admin decides up to a limit, above it another admin must approve. */
import { Injectable } from '@nestjs/common';
import { CreditRequests, type Admin, type DepositDecision } from '../billing/credit-requests.js';
import { CREDITS_MAX } from '../deposits/judgement.js';
import { withReturns } from '../deposits/deposit-return-states.js';
import { HeldDeposits, referenceOf, type HeldWorth } from '../deposits/held-deposits.js';
import { Projects } from '../projects/projects.js';
import { ConsoleConfig } from '../../platform/config/console-config.js';
import { ConsoleError } from '../../domain/console-error.js';
import { trxOf } from '../../domain/conversion.js';
import { invariant } from '../../domain/errors.js';
import type { Credits } from '../../domain/units.js';
import { Database } from '../../platform/database/database.js';
import type { Deposit } from '../../platform/database/entities/deposit.entity.js';
import { money, withoutNull } from './answers.js';
import type { DepositEvidence, OperatorDeposit } from './operator-shapes.js';
import { operatorDeposit } from './top-up.service.js';

interface Decision {
  readonly requestId: string;
  readonly isCredited: boolean;
  /** The worth that the admin saw. */
  readonly worth: Credits;
  readonly admin: Admin;
  readonly reason: string;
}

@Injectable()
export class DepositDecisions {
  constructor(
    private readonly database: Database,
    private readonly held: HeldDeposits,
    private readonly requests: CreditRequests,
    private readonly projects: Projects,
    private readonly config: ConsoleConfig,
  ) {}

  /** Throws OperatorError for an unknown deposit. */
  async read(id: bigint): Promise<DepositEvidence> {
    const { deposit, worth } = await this.load(id);
    const project = await this.projects.get(deposit.projectId);
    const { credits, smallAmount } = worth;
    return withoutNull<DepositEvidence>({
      deposit: await this.shapeOf(deposit, project.name),
      worth: credits === undefined || credits > CREDITS_MAX ? undefined : money(credits),
      small_amount: smallAmount === 0n ? undefined : trxOf(smallAmount),
      balance: money(project.balance_credits),
      limit: money(this.config.approvalCredits),
    });
  }

  /**
   * Carries the decision out, or records a request if the worth is above the limit. Returns true for a request. Throws
   * CONFLICT or OperatorError if the deposit is not held or has another worth than the admin saw.
   */
  async decide(id: bigint, { requestId, isCredited, worth, admin, reason }: Decision): Promise<boolean> {
    if (worth <= this.config.approvalCredits) {
      const author = { actor: admin.email, reason };
      await this.database.transaction((tx) => this.held.resolve(tx, id, { isCredited, author, expected: worth }));
      return false;
    }
    const { deposit, worth: found } = await this.load(id);
    if (deposit.status !== 'held') throw new ConsoleError('CONFLICT', `The deposit is ${deposit.status}, not held.`);
    if (found.credits !== worth)
      throw new ConsoleError('CONFLICT', 'The worth has changed. Look at the deposit again.');
    const kind = isCredited ? 'deposit' : 'refusal';
    const entry = { kind, projectId: deposit.projectId, credits: worth, reference: referenceOf(deposit) } as const;
    await this.requests.requestCredits(requestId, entry, admin, reason);
    return true;
  }

  /** Carries an approved decision out. Throws OperatorError if the deposit is not held or has another worth now. */
  readonly carryOut: DepositDecision = async (tx, { reference, credits, isCredited }, author) => {
    const deposit = await this.held.findByReference(tx, reference);
    await this.held.resolve(tx, deposit.id, { isCredited, author, expected: credits });
  };

  /** Returns the deposit of a request. */
  async ofRequest(reference: string, projectName: string): Promise<OperatorDeposit> {
    const deposit = await this.database.transaction((tx) => this.held.findByReference(tx, reference));
    return this.shapeOf(deposit, projectName);
  }

  private async load(id: bigint): Promise<{ readonly deposit: Deposit; readonly worth: HeldWorth }> {
    return this.database.transaction(async (tx) => {
      const deposit = await this.held.find(tx, id);
      return { deposit, worth: await this.held.readWorth(tx, deposit) };
    });
  }

  private async shapeOf(deposit: Deposit, projectName: string): Promise<OperatorDeposit> {
    const [listed] = await withReturns(this.database, 'all', [deposit]);
    invariant(listed !== undefined, 'each deposit is listed');
    return operatorDeposit(listed, projectName);
  }
}
