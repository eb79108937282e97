/** Routes for booking credits. Up to a limit they are booked immediately, above it after another admin's approval. */
import { Body, Controller, Get, HttpCode, Param, ParseUUIDPipe, Post } from '@nestjs/common';
import { CreditRequests } from '../billing/credit-requests.js';
import { Ledger, type Booked } from '../billing/ledger.js';
import { ConsoleConfig } from '../../platform/config/console-config.js';
import { invalidField } from '../../domain/errors.js';
import { credits } from '../../domain/units.js';
import { UUID } from '../../domain/uuid.js';
import { IsEither, IsFlag, IsInteger, IsText, Optional } from '../../platform/http/body/member-rules.js';
import { Projects } from '../projects/projects.js';
import { money, notFound, reasonOf } from './answers.js';
import { Authority, type ConsoleCaller } from './authority.js';
import { authorOf, Person } from './caller.js';
import { adminOf, CreditRequestLines } from './credit-request-lines.js';
import { DepositDecisions } from './deposit-decisions.js';
import type { BookCredits, BookedCredits, CreditRequestList, DecideCredits } from './operator-shapes.js';

const READS = { operator: ['admin', 'support'], scope: 'service' } as const;
const WRITES = { operator: ['admin'], scope: 'service', again: true } as const;
const REASON = { maxLength: 1000, description: 'The reason; kept for ever.' };

class BookCreditsRequest implements BookCredits {
  @IsText({
    maxLength: 36,
    check: (value) => (UUID.test(value) ? undefined : 'must be a UUID in small letters'),
    description: 'Chosen by the caller. A repeated request with the same id books nothing more.',
  })
  declare readonly id: string;

  @IsEither(['topup', 'adjustment'])
  declare readonly kind: 'topup' | 'adjustment';

  @IsInteger(() => ({ min: 1, max: Number.MAX_SAFE_INTEGER }), 'Number of credits.')
  declare readonly credits: number;

  @Optional()
  @IsFlag('Deducts the credits. Only for an adjustment.')
  declare readonly takes_off?: boolean;

  @Optional()
  @IsText({
    maxLength: 200,
    description: 'Reference of the payment, visible to the project. It can be booked only once.',
  })
  declare readonly reference?: string;

  @IsText(REASON)
  declare readonly reason: string;
}

class DecideCreditsRequest implements DecideCredits {
  @IsText(REASON)
  declare readonly reason: string;
}

@Controller('api/operator')
export class CreditsController {
  constructor(
    private readonly config: ConsoleConfig,
    private readonly ledger: Ledger,
    private readonly requests: CreditRequests,
    private readonly decisions: DepositDecisions,
    private readonly lines: CreditRequestLines,
    private readonly projects: Projects,
  ) {}

  @Post('projects/:id/credits')
  @HttpCode(200)
  @Authority(WRITES)
  async book(
    @Person() caller: ConsoleCaller,
    @Param('id') projectId: string,
    @Body() request: BookCreditsRequest,
  ): Promise<BookedCredits> {
    if (!UUID.test(projectId)) throw notFound('project');
    await this.projects.get(projectId);
    const { id, kind, reference = id } = request;
    const takesOff = request.takes_off === true;
    if (takesOff && kind === 'topup') throw invalidField('takes_off', 'applies to adjustments only');
    const amount = BigInt(request.credits);
    const entry: Booked = {
      kind,
      projectId,
      credits: credits(takesOff ? -amount : amount),
      reference: reference.trim(),
    };
    const reason = reasonOf(request);
    if (amount > this.config.approvalCredits) {
      await this.requests.requestCredits(id, entry, adminOf(caller), reason);
      return { request: await this.lines.of(await this.requests.find(id)) };
    }
    const author = authorOf(caller, reason);
    const { isNew, balanceCredits } =
      kind === 'topup'
        ? await this.ledger.topUp(projectId, entry.credits, entry.reference, author)
        : await this.ledger.adjust(projectId, entry.credits, entry.reference, author);
    return { booked: { is_new: isNew, balance: money(balanceCredits) } };
  }

  @Get('credit-requests')
  @Authority(READS)
  async list(): Promise<CreditRequestList> {
    const items = await Promise.all((await this.requests.list()).map((each) => this.lines.of(each)));
    return { limit: money(this.config.approvalCredits), items };
  }

  @Post('credit-requests/:id/approve')
  @HttpCode(200)
  @Authority(WRITES)
  async approve(
    @Person() caller: ConsoleCaller,
    @Param('id', ParseUUIDPipe) id: string,
    @Body() request: DecideCreditsRequest,
  ): Promise<BookedCredits> {
    const { carryOut } = this.decisions;
    const booking = await this.requests.approve(id, adminOf(caller), reasonOf(request), carryOut);
    const booked = booking && { is_new: booking.isNew, balance: money(booking.balanceCredits) };
    return { ...(booked && { booked }), request: await this.lines.of(await this.requests.find(id)) };
  }

  @Post('credit-requests/:id/reject')
  @HttpCode(200)
  @Authority(WRITES)
  async reject(
    @Person() caller: ConsoleCaller,
    @Param('id', ParseUUIDPipe) id: string,
    @Body() request: DecideCreditsRequest,
  ): Promise<BookedCredits> {
    await this.requests.reject(id, adminOf(caller), reasonOf(request));
    return { request: await this.lines.of(await this.requests.find(id)) };
  }
}
