/** Operators' routes for decisions on held deposits. */
import { Body, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { CreditRequests } from '../billing/credit-requests.js';
import { ApiError } from '../../domain/errors.js';
import { credits } from '../../domain/units.js';
import { UUID } from '../../domain/uuid.js';
import { IsEither, IsInteger, IsText } from '../../platform/http/body/member-rules.js';
import { AccessAudit } from './access-audit.js';
import { reasonOf } from './answers.js';
import { Authority, type ConsoleCaller } from './authority.js';
import { Person } from './caller.js';
import { adminOf, CreditRequestLines } from './credit-request-lines.js';
import { DepositDecisions } from './deposit-decisions.js';
import type { DecidedDeposit, DecideDeposit, DepositEvidence } from './operator-shapes.js';

const READS = { operator: ['admin', 'support'], scope: 'service' } as const;
const WRITES = { operator: ['admin'], scope: 'service', again: true } as const;

class DecideDepositRequest implements DecideDeposit {
  @IsText({
    maxLength: 36,
    check: (value) => (UUID.test(value) ? undefined : 'must be a UUID in small letters'),
    description: 'Chosen by the page: the same one again is the same request.',
  })
  declare readonly id: string;

  @IsEither(['credit', 'refuse'])
  declare readonly decision: 'credit' | 'refuse';

  @IsInteger(() => ({ min: 0, max: Number.MAX_SAFE_INTEGER }), 'The worth that the admin saw, in credits.')
  declare readonly worth_credits: number;

  @IsText({ maxLength: 1000, description: 'The reason, kept for ever. The project can read the reason of a refusal.' })
  declare readonly reason: string;
}

@Controller('api/operator/deposits')
export class DepositDecisionsController {
  constructor(
    private readonly decisions: DepositDecisions,
    private readonly requests: CreditRequests,
    private readonly lines: CreditRequestLines,
    private readonly accessAudit: AccessAudit,
  ) {}

  @Get(':deposit_id')
  @Authority(READS)
  async read(@Person() caller: ConsoleCaller, @Param('deposit_id') text: string): Promise<DepositEvidence> {
    const evidence = await this.decisions.read(depositId(text));
    await this.accessAudit.recordAccess(caller, evidence.deposit.project.id, '/api/operator/deposits/:deposit_id');
    return evidence;
  }

  @Post(':deposit_id/decide')
  @HttpCode(200)
  @Authority(WRITES)
  async decide(
    @Person() caller: ConsoleCaller,
    @Param('deposit_id') text: string,
    @Body() request: DecideDepositRequest,
  ): Promise<DecidedDeposit> {
    const id = depositId(text);
    const isRequest = await this.decisions.decide(id, {
      requestId: request.id,
      isCredited: request.decision === 'credit',
      worth: credits(request.worth_credits),
      admin: adminOf(caller),
      reason: reasonOf(request),
    });
    const { deposit } = await this.decisions.read(id);
    return { deposit, ...(isRequest && { request: await this.lines.of(await this.requests.find(request.id)) }) };
  }
}

function depositId(text: string): bigint {
  const digits = /^dep_(\d{1,18})$/.exec(text)?.[1];
  if (digits === undefined) throw new ApiError('NOT_FOUND', 'There is no deposit with this ID.');
  return BigInt(digits);
}
