/** `keys create|list|options|rotate|revoke`: the API keys of a project. */
import type { Command } from 'commander';
import { SCOPES, type Scope } from '../../domain/scopes.js';
import { durationText } from '../../domain/text.js';
import type { Credits } from '../../domain/units.js';
import { nameFault } from '../../domain/printable.js';
import { usageError } from '../../domain/operator-error.js';
import { Projects } from '../projects/projects.js';
import { ApiKeys, type KeyOptions, type KeyView } from '../projects/api-keys.js';
import { choiceArg, creditsArg, integerArg, keyArg, merchantArg, sourceArg } from './arguments.js';
import type { CliContext } from './cli-context.js';
import { fields, table } from './format.js';
import { madeByKey, madeText } from './made-by-key.js';

const NAME_LENGTH_MAX = 100;
/** Seven days. */
const OVERLAP_SEC_MAX = 604_800n;
export const overlapArg = integerArg(0n, OVERLAP_SEC_MAX);

const scopeOf = choiceArg(SCOPES);
const scopeArg = (text: string, before: readonly Scope[] | undefined): readonly Scope[] => [
  ...new Set([...(before ?? []), scopeOf(text)]),
];

interface Options {
  readonly name?: string;
  readonly scope?: readonly Scope[];
  readonly allowSource?: readonly string[];
  readonly anySource?: boolean;
  readonly dailyCap?: Credits;
  readonly dailyCapOff?: boolean;
}

const SHOWN_ONCE = 'The API key is shown only once. Store it safely; `keys rotate` creates a new one.';

export function addApiKeyCommands(keys: Command, context: CliContext): void {
  addCreate(keys, context);
  addReads(keys, context);
  addEndings(keys, context);
}

function addCreate(keys: Command, context: CliContext): void {
  withLimits(keys.command('create <merchant>'))
    .description('create another API key and print it once; it signs with HMAC')
    .requiredOption('--name <name>', 'what the key is for')
    .action(async (merchant: string, options: Options & { name: string }) => {
      const id = merchantArg(merchant);
      const { scopes, ...limits } = limitsOf(options);
      if (scopes === undefined) throw usageError(`The key needs at least one scope: --scope ${SCOPES.join(' | ')}.`);
      const act = context.actor('API key created');
      await context.operate(async (parts) => {
        const service = parts.get(ApiKeys);
        const made = await service.create(id, { ...limits, scopes, name: nameOf(options.name) }, act);
        const view = await service.get(made.id);
        const shown = fields([
          ['Merchant ID', id],
          ['API key', made.apiKey],
        ]);
        context.print(`${keyText(view)}\n\n${shown}\n\n${SHOWN_ONCE}`, { ...keyJson(view), api_key: made.apiKey });
      });
    });
}

function addReads(keys: Command, context: CliContext): void {
  keys
    .command('list <merchant>')
    .description('list the API keys of a project, the primary key first')
    .option('--all', 'include revoked keys')
    .action(async (merchant: string, options: { all?: boolean }) => {
      const id = merchantArg(merchant);
      await context.operate(async (parts) => {
        await parts.get(Projects).get(id);
        const views = await parts.get(ApiKeys).list(id, options.all === true);
        const human = table(
          ['key', 'name', 'scopes', 'daily cap', 'spent today', 'last used'],
          views.map((view) => [
            view.id,
            view.revoked_at === null ? view.name : `${view.name} (revoked)`,
            view.is_primary ? 'all, also MD5' : view.scopes.join(' '),
            view.daily_cap_credits ?? 'none',
            view.spent_credits,
            view.last_used_at ?? 'never',
          ]),
          'No API keys.',
        );
        context.print(human, { keys: views.map(keyJson) });
      });
    });
  withLimits(keys.command('options <key>'))
    .description('change an API key’s scopes and limits; without options, show them')
    .option('--name <name>', 'what the key is for')
    .action(async (key: string, options: Options) => {
      const id = keyArg(key);
      const changes = { ...limitsOf(options), ...(options.name !== undefined && { name: nameOf(options.name) }) };
      const act = context.actor('API key changed');
      await context.operate(async (parts) => {
        const service = parts.get(ApiKeys);
        if (Object.keys(changes).length > 0) await service.setOptions(id, changes, act);
        const view = await service.get(id);
        context.print(keyText(view), keyJson(view));
      });
    });
}

function addEndings(keys: Command, context: CliContext): void {
  keys
    .command('rotate <key>')
    .description('create a new secret for an API key; for the primary key use `project rotate-key`')
    .option('--overlap <seconds>', 'how long the old secret stays valid, at most 7 days (default: 0)', overlapArg)
    .action(async (key: string, options: { overlap?: bigint }) => {
      const id = keyArg(key);
      const overlapSec = Number(options.overlap ?? 0n);
      const act = context.actor('API key rotated');
      await context.confirm(
        `This invalidates the current secret of the API key ${id} ${overlapSec === 0 ? 'immediately' : `in ${durationText(overlapSec)}`}.`,
      );
      await context.operate(async (parts) => {
        const apiKey = await parts.get(ApiKeys).rotate(id, overlapSec, act);
        const view = await parts.get(ApiKeys).get(id);
        const shown = fields([
          ['Merchant ID', view.project_id],
          ['API key', apiKey],
        ]);
        const made = await madeByKey(parts, { projectId: view.project_id, keyId: id });
        const text = `${shown}\n\n${SHOWN_ONCE}${madeText(made, 'the key still pays for them')}`;
        context.print(text, { ...keyJson(view), api_key: apiKey, made });
      });
    });
  // Not confirmed: it is the emergency brake for a leaked key.
  keys
    .command('revoke <key>')
    .description('revoke an API key permanently, including its old secret')
    .action(async (key: string) => {
      const id = keyArg(key);
      const act = context.actor('API key revoked');
      await context.operate(async (parts) => {
        await parts.get(ApiKeys).revoke(id, act);
        const view = await parts.get(ApiKeys).get(id);
        const next = view.is_primary ? ' `project rotate-key` creates a new primary key.' : '';
        const made = await madeByKey(parts, { projectId: view.project_id, keyId: id });
        const text = `${view.name} is revoked: requests signed with it are refused.${next}`;
        context.print(`${text}${madeText(made, 'paused until they are set with another key')}`, {
          ...keyJson(view),
          made,
        });
      });
    });
}

function withLimits(command: Command): Command {
  return command
    .option('--scope <scope...>', `allowed scopes: ${SCOPES.join(', ')}; replaces the list`, scopeArg)
    .option('--allow-source <address...>', 'accept only these addresses or CIDR ranges; replaces the list', sourceArg)
    .option('--any-source', 'accept every address that the project accepts')
    .option('--daily-cap <credits>', 'the most the key may spend per UTC day', creditsArg)
    .option('--daily-cap-off', 'remove the key’s own daily cap');
}

function limitsOf(options: Options): Omit<KeyOptions, 'name'> {
  if (options.anySource === true && options.allowSource !== undefined) {
    throw usageError('--any-source and --allow-source cannot be combined.');
  }
  if (options.dailyCapOff === true && options.dailyCap !== undefined) {
    throw usageError('--daily-cap and --daily-cap-off cannot be combined.');
  }
  const allowedSources = options.anySource === true ? [] : options.allowSource;
  const dailyCapCredits = options.dailyCapOff === true ? null : options.dailyCap;
  return {
    ...(options.scope !== undefined && { scopes: options.scope }),
    ...(allowedSources !== undefined && { allowedSources }),
    ...(dailyCapCredits !== undefined && { dailyCapCredits }),
  };
}

function nameOf(text: string): string {
  const name = text.trim();
  if (name === '' || name.length > NAME_LENGTH_MAX) throw usageError('--name takes 1 to 100 characters.');
  const fault = nameFault(name);
  if (fault !== undefined) throw usageError(`--name ${fault}.`);
  return name;
}

function keyText(view: KeyView): string {
  return fields([
    ['Key', view.id],
    ['Name', view.name],
    ['State', view.revoked_at === null ? 'active' : 'revoked'],
    ['Scopes', view.is_primary ? `${view.scopes.join(' ')} (primary: also signs with MD5)` : view.scopes.join(' ')],
    ['Sources', view.allowed_sources.length === 0 ? 'any' : view.allowed_sources.join(', ')],
    ['Daily cap', view.daily_cap_credits ?? 'none'],
    ['Spent today', view.spent_credits],
    ['Created', view.created_at],
    ['Last used', view.last_used_at ?? 'never'],
    ['Old secret', view.previous_until ?? 'no longer valid'],
  ]);
}

function keyJson(view: KeyView): Record<string, unknown> {
  const { id, project_id: merchant, ...rest } = view;
  return { key: id, merchant, ...rest };
}
