/** Words requests for credits and for decisions on held deposits, with what a decision on them needs. Reads only. */
import { Injectable } from '@nestjs/common';
import type { Admin } from '../billing/credit-requests.js';
import { Projects } from '../projects/projects.js';
import type { CreditRequest } from '../../platform/database/entities/credit-request.entity.js';
import { money, timeOf, withoutNull } from './answers.js';
import type { ConsoleCaller } from './authority.js';
import { DepositDecisions } from './deposit-decisions.js';
import type { CreditRequestLine } from './operator-shapes.js';

@Injectable()
export class CreditRequestLines {
  constructor(
    private readonly projects: Projects,
    private readonly decisions: DepositDecisions,
  ) {}

  async of(request: CreditRequest): Promise<CreditRequestLine> {
    const { kind, reference, status } = request;
    const project = await this.projects.get(request.projectId);
    const needsDeposit = status === 'pending' && (kind === 'deposit' || kind === 'refusal');
    return withoutNull<CreditRequestLine>({
      id: request.id,
      project: { id: project.id, name: project.name },
      kind,
      deposit: needsDeposit ? await this.decisions.ofRequest(reference, project.name) : undefined,
      amount: money(request.credits),
      balance: money(project.balance_credits),
      reference,
      reason: request.reason,
      asked_by: { id: request.askedBy, email: request.askedByEmail },
      asked_at: request.askedAt.toISOString(),
      status,
      decided_by: request.decidedByEmail,
      decided_at: timeOf(request.decidedAt),
      decision_reason: request.decisionReason,
    });
  }
}

export const adminOf = ({ personId, email }: ConsoleCaller): Admin => ({ personId, email });
