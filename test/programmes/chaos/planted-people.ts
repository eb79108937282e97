// Planted bugs in consoles and forms: invitations, sign-in, mails, amounts, spreadsheet files.
import { one, type PlantedBug } from './planted-bug.js';

const integration = (file: string) => (title: string) => ({ file: `integration/${file}.test.ts`, title });
const unit = (file: string) => (title: string) => ({ file: `unit/${file}.test.ts`, title });
const invitations = integration('console/console-invitations');

export const PLANTED_PEOPLE: readonly PlantedBug[] = [
  {
    name: 'an inviter sees the link that was mailed',
    changes: one(
      'modules/console/team-answers.ts',
      'return { invitation: itemOf(invitation), mailed: true };',
      'return { invitation: itemOf(invitation), mailed: true, link: linkOf(consoleUrl, token) };',
    ),
    test: invitations('sends the link only to the invited address, in our words, and proves the address'),
  },
  {
    name: 'a squatted address stays with the squatter',
    changes: one(
      'modules/people/security.ts',
      'account.is_member && (account.is_proven || !proves)',
      'account.is_member',
    ),
    test: invitations('gives the address to its true owner, whoever made an account in its name before'),
  },
  {
    name: 'a link that its inviter saw opens an account with memberships',
    changes: one(
      'modules/people/security.ts',
      'account.is_member && (account.is_proven || !proves)',
      'account.is_member && account.is_proven',
    ),
    test: invitations('never opens an account with memberships by a new password, proven or not'),
  },
  {
    name: 'an inviter learns who has an account',
    changes: one(
      'modules/people/security.ts',
      'return invitation.proves_address && account !== undefined && isKept(account, invitation);',
      'return account !== undefined && isKept(account, invitation);',
    ),
    test: invitations('shows the link to the inviter, and reveals no account and proves no address'),
  },
  {
    name: 'any signed-in person proves another’s address',
    changes: one(
      'modules/notifications/mail-tokens.ts',
      "act === 'proof' && person === personId && address === email",
      "act === 'proof'",
    ),
    test: invitations('gets no mail until they open the link sent there'),
  },
  {
    name: 'an address gets as many mails as projects ask for',
    changes: one(
      'modules/people/guesses.ts',
      "this.budgetOf('placeMail', place), this.budgetOf('addressMail', email)",
      "this.budgetOf('placeMail', place)",
    ),
    test: invitations('mails one address a few times a day, whatever projects ask for it'),
  },
  {
    name: 'invitations that were called off do not count for the day',
    changes: one(
      'modules/people/invitations.ts',
      "WHERE project_id = $1 AND created_at > clock_timestamp() - interval '1 day'",
      "WHERE project_id = $1 AND revoked_at IS NULL AND created_at > clock_timestamp() - interval '1 day'",
    ),
    test: invitations('creates a bounded number of invitations of a project a day, withdrawn ones included'),
  },
  {
    name: 'a subject holds the name of a project',
    changes: one('modules/notifications/mail-text.ts', '${terms.subject}: ${what}`', '${about}: ${what}`'),
    test: unit('notifications/mail')('keeps names that people chose short and on one line'),
  },
  {
    name: 'known browsers wait behind unknown ones',
    changes: one(
      'modules/people/password-queue.ts',
      'const isUnknownsTurn = known.length === 0 ||',
      'const isUnknownsTurn = known.length === 0 || unknown.length > 0 ||',
    ),
    test: unit('people/password-turns')(
      'a known browser waits for one password at most, however many unknown ones wait',
    ),
  },
  {
    name: 'who hung up keeps the place in the queue',
    changes: one('modules/people/password-queue.ts', 'if (place >= 0) waiting.splice(place, 1);', ''),
    test: unit('people/password-turns')('a caller who disconnects leaves the queue'),
  },
  {
    name: 'guesses count per /64 alone',
    changes: one(
      'modules/people/guesses.ts',
      'if (!isIPv6(address)) return [own];',
      'if (isIPv6(address) || address !== undefined) return [own];',
    ),
    test: integration('console/console-sign-in')('of one IPv6 /56 count together, whatever their /64'),
  },
  {
    name: 'a code gives a guess back to the address that it comes from',
    changes: one(
      'modules/people/guesses.ts',
      'return { keys: [this.budgetOfPassword(guesser).key] };',
      "return { keys: [this.budgetOfPassword(guesser), ...this.budgetsOfNetworks('address', guesser.address)].map(({ key }) => key) };",
    ),
    test: integration('console/console-sign-in')(
      'of one address are not forgotten for a code that another address’s sign-in waited for',
    ),
  },
  {
    name: 'a comma before three digits is thousands',
    changes: one('domain/typed-amount.ts', '(points === 1 || commas > 1)', '(points === 1 || commas > 0)'),
    test: unit('domain/typed-amount')('with a sentence'),
  },
  {
    name: 'an amount beyond a JSON integer is taken',
    changes: one('domain/typed-amount.ts', 'return value > largest ?', 'return value > largest * 2n ?'),
    test: unit('domain/typed-amount')('as a whole number, with a reason'),
  },
  {
    name: 'a formula behind a semicolon reaches a spreadsheet',
    changes: one(
      'platform/support/csv.ts',
      'return quoted(marked(cell));',
      "return quoted(FORMULA.test(cell) ? `'${cell}` : cell);",
    ),
    test: unit('support/csv')('and knows no quotes'),
  },
  {
    name: 'a file for people has no byte-order mark',
    changes: one('platform/support/csv.ts', "const BYTE_ORDER_MARK = '\\ufeff';", "const BYTE_ORDER_MARK = '';"),
    test: unit('support/csv')('begins a file for people with one byte-order mark, and a file for programs with none'),
  },
  {
    name: 'an address in hex is called too long',
    changes: one(
      'platform/chain/address.ts',
      "if (HEX_ADDRESS.test(text.trim())) return 'must be in base58check form (T…), not in hex';",
      '',
    ),
    test: unit('chain/address')('with the kind of mistake, in a body and in a command'),
  },
  {
    name: 'a name may turn the text around it',
    changes: one('domain/printable.ts', '\\u202a-\\u202e', ''),
    test: unit('support/outside-text')('with a reason'),
  },
  {
    name: 'an order’s key is several words of a shell',
    changes: one('modules/console/signed-snippets.ts', '(/^[\\w./:%~-]+$/.test(text) ? text : quoted(text))', 'text'),
    test: unit('support/outside-text')('an order’s key is one shell word, whatever it contains'),
  },
  {
    name: 'each refusal of a flood writes its stack',
    changes: one(
      'platform/http/pipeline/error.filter.ts',
      'code, fault: reasonOf(cause) }',
      'code, err: cause, fault: reasonOf(cause) }',
    ),
    test: unit('support/outside-text')(
      'logs a refusal under a flood as one short line, and a fault of ours with its stack',
    ),
  },
  {
    name: 'the admin port answers any Host',
    changes: one(
      'platform/observability/admin-hosts.ts',
      'if (header === undefined) return true;',
      'if (header !== adminHost) return true;',
    ),
    test: unit('support/outside-text')('does not answer to'),
  },
  {
    name: 'a sign-in waits for its second factor for days',
    changes: one(
      'modules/people/sessions.ts',
      "const UNFINISHED = `interval '15 minutes'`",
      "const UNFINISHED = `interval '15 days'`",
    ),
    test: integration('console/console-sessions')(
      'that waits for its second factor ends after fifteen minutes, whatever the code',
    ),
  },
  {
    name: 'anyone’s recovery code signs a person in',
    changes: one(
      'modules/people/second-factors.ts',
      'WHERE person_id = $1 AND code_hash = $2 RETURNING',
      'WHERE $1::uuid IS NOT NULL AND code_hash = $2 RETURNING',
    ),
    test: integration('console/console-sessions')('is not signed in to by the recovery code of another person'),
  },
  {
    name: 'a browser stays known when the second factor is reset',
    changes: one('modules/people/team.ts', 'totp_since = NULL, credentials = credentials + 1', 'totp_since = NULL'),
    test: integration('console/console-sessions')('a second factor that is reset makes known browsers unknown'),
  },
  {
    name: 'the last owner leaves a project to its members',
    changes: one('modules/people/team.ts', 'id !== personId && role === manages', 'id !== personId && role.length > 0'),
    test: integration('console/console-team')(
      'of the last owner stays, even if two owners remove each other concurrently',
    ),
  },
  {
    name: 'a restore keeps the sessions of the dump',
    changes: one(
      'modules/people/restored-access.ts',
      'DELETE FROM console_session RETURNING id',
      'SELECT id FROM console_session',
    ),
    test: integration('people/after-restore')(
      'ends all sessions, and lists everything revoked, removed or used up since the dump',
    ),
  },
  {
    name: 'the number of a lost order is given to another one',
    changes: one(
      'platform/database/told-numbers.ts',
      'nextval(name::regclass) + $2',
      'nextval(name::regclass) + 0 * $2',
    ),
    test: integration('people/after-restore')(
      'ends all sessions, and lists everything revoked, removed or used up since the dump',
    ),
  },
  {
    name: 'a key that was revoked since the dump is not listed',
    changes: one(
      'modules/people/restored-access.ts',
      'return before === row.state || (NO_ACCESS.has(row.state) && before === GONE) ?',
      "return before === row.state || before === 'revoked' ?",
    ),
    test: integration('people/after-restore')(
      'ends all sessions, and lists everything revoked, removed or used up since the dump',
    ),
  },
  {
    name: 'the limits of a project are committed after its options',
    changes: one(
      'modules/projects/projects.ts',
      'if (low !== undefined) await this.ledger.setLowBalance(id, low ?? undefined, act, tx);\n    });',
      '});\n    if (low !== undefined) await this.ledger.setLowBalance(id, low ?? undefined, act);',
    ),
    test: integration('console/console-records')('stay as they are when the last of several changes fails'),
  },
];
