/** `console invite|people|end-sessions|reset-factor|after-restore`: the people of the consoles. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import type { INestApplicationContext } from '@nestjs/common';
import { Config } from '../../platform/config/config.js';
import { originOf } from '../../platform/config/setting.js';
import { AUDIENCES, PERSON_ROLES_TEXT, type Audience, type PersonRole } from '../../domain/audience.js';
import { OperatorError, usageError } from '../../domain/operator-error.js';
import { grouped, timeText } from '../../domain/text.js';
import { EMAIL_ADDRESS } from '../../domain/email-address.js';
import { Invitations, linkOf, type Place } from '../people/invitations.js';
import { RestoredAccessReview } from '../people/restored-access.js';
import { Team } from '../people/team.js';
import { Projects } from '../projects/projects.js';
import { readSecretFile } from '../../platform/support/secret-file.js';
import { choiceArg, merchantArg } from './arguments.js';
import type { CliContext } from './cli-context.js';
import { table } from './format.js';

const SHOWN_ONCE = `The link is shown only once. It works once, within 24 hours.
Send it by a private channel: the first person to open it gets the access.`;

function emailArg(text: string): string {
  const email = text.trim().toLowerCase();
  if (!EMAIL_ADDRESS.test(email)) throw new InvalidArgumentError('It must be an e-mail address.');
  return email;
}

function urlArg(text: string): string {
  const origin = originOf(text);
  if (origin === undefined) {
    throw new InvalidArgumentError('It must be an origin, such as https://console.example.com.');
  }
  return origin;
}

export function addConsoleCommands(program: Command, context: CliContext): void {
  const consoles = program.command('console').description('manage the people of the consoles');
  addInvite(consoles, context);
  addPeople(consoles, context);
  addEndings(consoles, context);
  addAfterRestore(consoles, context);
}

interface InviteOptions {
  readonly email: string;
  readonly role: PersonRole;
  readonly project?: string;
  readonly url?: string;
}

function addInvite(consoles: Command, context: CliContext): void {
  consoles
    .command('invite')
    .description('create an invitation link to a console')
    .requiredOption('--email <email>', 'e-mail address of the person', emailArg)
    .addOption(
      new Option('--role <role>', 'admin or support; with --project, owner or member')
        .argParser(choiceArg(PERSON_ROLES_TEXT))
        .makeOptionMandatory(true),
    )
    .option('--project <merchant>', 'invite to this project instead of the operator console', merchantArg)
    .option('--url <url>', 'URL of the console, if CONSOLE_…_URL is not set', urlArg)
    .action(async ({ email, role, project, url }: InviteOptions) => {
      const act = context.actor(`invited ${email}`);
      const place: Place = { audience: project === undefined ? 'operator' : 'merchant', projectId: project };
      await context.operate(async (parts) => {
        if (project !== undefined) await parts.get(Projects).get(project);
        const consoleUrl = url ?? parts.get(Config).consoles[place.audience];
        if (consoleUrl === undefined) {
          throw usageError(
            `The URL of the console is missing. Pass --url, or set CONSOLE_${place.audience.toUpperCase()}_URL.`,
          );
        }
        const { invitation, token } = await parts.get(Invitations).invite(place, { email, role }, act);
        const link = linkOf(consoleUrl, token);
        context.print(`${link}\n\n${SHOWN_ONCE}`, { email, role, project, link, expires_at: invitation.expires_at });
      });
    });
}

function addPeople(consoles: Command, context: CliContext): void {
  consoles
    .command('people')
    .description('list the people of both consoles')
    .action(async () => {
      await context.operate(async (parts) => {
        const people = await parts.get(Team).everyone();
        const human = table(
          ['e-mail', 'console', 'roles', 'second factor', 'last seen'],
          people.map(({ email, audience, memberships, has_second_factor: hasFactor, last_seen_at: seen }) => [
            email,
            audience,
            memberships.map(({ project_id: id, role }) => (id === null ? role : `${role} of ${id}`)).join(', ') ||
              'none',
            hasFactor ? 'yes' : 'no',
            seen === null ? 'not signed in' : timeText(seen),
          ]),
          'No people yet: `console invite`.',
        );
        context.print(human, { people });
      });
    });
}

interface PersonOptions {
  readonly console?: Audience;
}

/** Returns the person with that e-mail. Throws if there is none, or one in each console and --console is missing. */
async function personOf(parts: INestApplicationContext, email: string, { console: audience }: PersonOptions) {
  const [found, other] = await parts.get(Team).find(email, audience);
  if (found === undefined)
    throw new OperatorError('No person has this e-mail address; `console people` lists all people.', 1, 'NOT_FOUND');
  if (other !== undefined)
    throw usageError('Both consoles have a person with this e-mail address. Choose one with --console.');
  return found;
}

const consoleOption = (): Option =>
  new Option('--console <console>', 'the console, if both have a person with this e-mail address').choices(AUDIENCES);

function addEndings(consoles: Command, context: CliContext): void {
  consoles
    .command('end-sessions <email>')
    .description('sign a person out of all sessions')
    .addOption(consoleOption())
    .action(async (text: string, options: PersonOptions) => {
      const email = emailArg(text);
      const act = context.actor(`ended the sessions of ${email}`);
      await context.operate(async (parts) => {
        const ended = await parts.get(Team).endSessions((await personOf(parts, email, options)).id, act);
        context.print(`${ended.toString()} sessions of ${email} ended.`, { email, ended });
      });
    });
  consoles
    .command('reset-factor <email>')
    .description('remove a lost second factor')
    .addOption(consoleOption())
    .action(async (text: string, options: PersonOptions) => {
      const email = emailArg(text);
      await context.confirm(`Until ${email} sets up another second factor, the password alone is enough to sign in.`);
      const act = context.actor(`reset the second factor of ${email}`);
      await context.operate(async (parts) => {
        await parts.get(Team).resetSecondFactor((await personOf(parts, email, options)).id, act);
        context.print(`The second factor of ${email} is removed, and all sessions are ended.`, { email, reset: true });
      });
    });
}

const URL_BYTES_MAX = 4096;
const NEXT_STEPS = `Review this access: use \`keys revoke\`, \`keys rotate\`, \`webhooks rotate\` and \`console reset-factor\`, and
remove people who have left in the console. Changes that people made after the dump are lost.`;

function addAfterRestore(consoles: Command, context: CliContext): void {
  consoles
    .command('after-restore')
    .description(
      'end all sessions, raise the numbers of new rows, and list the keys, people and secrets that a restored dump brought back',
    )
    .option('--lost <file>', 'a file with the URL of the damaged database: lists only the differences from it')
    .action(async ({ lost }: { readonly lost?: string }) => {
      await context.confirm('This signs everyone out of both consoles.');
      const act = context.actor('restored a backup');
      const lostUrl = lost === undefined ? undefined : readSecretFile(lost, URL_BYTES_MAX).toString('utf8').trim();
      await context.operate(async (parts) => {
        const review = parts.get(RestoredAccessReview);
        const { ended, raisedBy } = await review.recordRestore(act);
        const access = await review.list(lostUrl);
        const human = [
          `${ended.toString()} sessions ended.`,
          `Numbers of new orders, ledger entries, deposits, auto-delegations and deliveries: ${grouped(BigInt(raisedBy))} higher.`,
          lost === undefined ? 'Access that the dump contains:' : 'Differences from the damaged database:',
          table(
            ['what', 'of', 'now', ...(lost === undefined ? [] : ['before'])],
            access.map(({ kind, name, state, before }) => [kind, name, state, ...(lost === undefined ? [] : [before])]),
            'None.',
          ),
          NEXT_STEPS,
        ].join('\n\n');
        context.print(human, { ended, raised_by: raisedBy, access });
      });
    });
}
