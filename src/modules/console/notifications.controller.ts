/** Routes for e-mail notifications: the signed-in person's choices, per project or as an operator. */
import { Body, Controller, Get, HttpCode, Post } from '@nestjs/common';
import { ConsoleConfig } from '../../platform/config/console-config.js';
import { ConsoleError } from '../../domain/console-error.js';
import { invalidField } from '../../domain/errors.js';
import {
  OPERATOR_NOTIFICATIONS,
  PROJECT_NOTIFICATIONS,
  type NotificationKind,
} from '../../domain/notification-kinds.js';
import { IsListOf, IsText, Optional } from '../../platform/http/body/member-rules.js';
import { MAILS_PER_HOUR } from '../notifications/mail-claims.js';
import { NotificationChoices, type ChoiceRow } from '../notifications/notification-choices.js';
import { timeOf, withoutNull } from './answers.js';
import type { NotificationChoice, NotificationsAnswer, NotificationsRequest } from './api-shapes.js';
import { Authority, type ConsoleCaller } from './authority.js';
import { authorOf, Person } from './caller.js';
import { toJsonInteger } from '../../domain/units.js';
import { UUID } from '../../domain/uuid.js';

const OWN = { merchant: ['owner', 'member'], operator: ['admin', 'support'], scope: 'self' } as const;
const KINDS = [...PROJECT_NOTIFICATIONS, ...OPERATOR_NOTIFICATIONS];

class ChooseRequest implements NotificationsRequest {
  @Optional()
  @IsText({
    maxLength: 36,
    check: (value) => (UUID.test(value) ? undefined : 'must be the id of a project'),
    description: 'The project that the e-mails are about. Operators name none.',
  })
  declare readonly project_id?: string;

  @IsListOf(KINDS, 'The kinds of e-mails to send. Empty: none.')
  declare readonly kinds: readonly NotificationKind[];
}

@Controller('api/notifications')
export class NotificationsController {
  constructor(
    private readonly choices: NotificationChoices,
    private readonly config: ConsoleConfig,
  ) {}

  @Get()
  @Authority(OWN)
  async read(@Person() caller: ConsoleCaller): Promise<NotificationsAnswer> {
    return {
      email: caller.email,
      ...(!(await this.choices.isAddressProven(caller.personId)) && { must_prove_address: true }),
      is_mail_set_up: this.config.mail !== undefined,
      mails_per_hour: MAILS_PER_HOUR,
      choices: (await this.choices.list(caller.personId)).map(choiceOf),
    };
  }

  @Post()
  @HttpCode(200)
  @Authority(OWN)
  async choose(@Person() caller: ConsoleCaller, @Body() request: ChooseRequest): Promise<NotificationsAnswer> {
    const { project_id: projectId, kinds } = request;
    const { audience } = caller;
    if ((projectId === undefined) !== (audience === 'operator')) {
      throw invalidField('project_id', audience === 'operator' ? 'is not accepted for operators' : 'is required');
    }
    const known: readonly string[] = audience === 'operator' ? OPERATOR_NOTIFICATIONS : PROJECT_NOTIFICATIONS;
    const unknown = kinds.find((kind) => !known.includes(kind));
    if (unknown !== undefined) throw invalidField('kinds', `${unknown} is not available to ${audience}s`);
    if (kinds.length > 0 && this.config.mail === undefined) {
      throw new ConsoleError(
        'NOT_ALLOWED_HERE',
        'E-mail is not set up here. Ask the operator to set up a mail server.',
      );
    }
    if (kinds.length > 0 && !(await this.choices.isAddressProven(caller.personId))) {
      throw new ConsoleError('NOT_ALLOWED_HERE', 'Your e-mail address is not confirmed. Confirm it first.');
    }
    await this.choices.choose(caller, projectId, kinds, authorOf(caller));
    return this.read(caller);
  }
}

function choiceOf(row: ChoiceRow): NotificationChoice {
  const { failing_since: since, fault, given_up_at: givenUpAt, given_up: count } = row;
  return withoutNull<NotificationChoice>({
    project_id: row.project_id,
    kinds: row.kinds ?? [],
    last_mail_at: timeOf(row.sent_at),
    failing: since === null ? undefined : { since: since.toISOString(), fault: fault ?? '' },
    given_up:
      givenUpAt === null
        ? undefined
        : { at: givenUpAt.toISOString(), count: toJsonInteger(count ?? 0n), fault: fault ?? '' },
  });
}
