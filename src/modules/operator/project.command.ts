/** `project`: tenants, their keys, terms and options. */
import { grouped } from '../../domain/text.js';
import type { Command } from 'commander';
import { randomUUID } from 'node:crypto';
import { Ledger, type BillingTerms } from '../billing/ledger.js';
import type { Credits } from '../../domain/units.js';
import { choiceArg, creditsArg, integerArg, merchantArg, signedCreditsArg, sourceArg, switchArg } from './arguments.js';
import type { CliContext } from './cli-context.js';
import { SIGNATURE_SCHEMES, type SignatureSchemes } from '../../domain/scopes.js';
import { reasonOf } from '../../domain/errors.js';
import { OperatorError, usageError } from '../../domain/operator-error.js';
import { overlapArg } from './api-keys.command.js';
import { creditsText, fields, table } from './format.js';
import { madeByKey, madeText } from './made-by-key.js';
import { addProjectCheck } from './project-check.command.js';
import { RequestHistory } from '../requests/request-history.js';
import { PROJECT_NAME_RULE, projectNameOf } from '../projects/project-name.js';
import { Projects, type ProjectChanges, type ProjectView } from '../projects/projects.js';

const REQUESTS_MAX = 1000n;

interface TermsOptions {
  readonly prepaid?: boolean;
  readonly postpaid?: boolean;
  readonly debtLimit?: Credits;
  readonly unlimited?: boolean;
}

interface OptionFlags {
  readonly signatures?: SignatureSchemes;
  readonly requireIdempotencyKey?: boolean;
  readonly requireQuote?: boolean;
  readonly allowSource?: string[];
  readonly anySource?: boolean;
  readonly dailyCap?: Credits;
  readonly dailyCapOff?: boolean;
  readonly lowBalance?: Credits;
  readonly lowBalanceOff?: boolean;
}

export function addProjectCommands(program: Command, context: CliContext): void {
  const project = program.command('project').description('manage projects: keys, terms, options');
  addCreate(project, context);
  addReads(project, context);
  addRequests(project, context);
  addProjectCheck(project, context);
  addFreezing(project, context);
  project
    .command('rotate-key <merchant>')
    .description('create a new primary API key; the old one becomes invalid within 30 s')
    .option('--overlap <seconds>', 'how long the old key stays valid, at most 7 days (default: 0)', overlapArg)
    .action(async (merchant: string, options: { overlap?: bigint }) => {
      const id = merchantArg(merchant);
      const act = context.actor('key rotated');
      await context.confirm(`This invalidates the API key of ${id}: requests signed with it will be refused.`);
      await context.operate(async (parts) => {
        const apiKey = await parts.get(Projects).rotateKey(id, act, Number(options.overlap ?? 0n));
        const made = await madeByKey(parts, { projectId: id, keyId: id });
        const text = `${keyText(id, apiKey)}${madeText(made, 'the key still pays for them')}`;
        context.print(text, { merchant: id, api_key: apiKey, made });
      });
    });
  addRename(project, context);
  addTerms(project, context);
  addOptions(project, context);
}

function nameArg(what: string, text: string): string {
  const name = projectNameOf(text);
  if (name === undefined) throw usageError(`${what} ${PROJECT_NAME_RULE}.`);
  return name;
}

function addRename(project: Command, context: CliContext): void {
  project
    .command('rename <merchant> <name>')
    .description('rename a project; its Merchant ID stays the same')
    .action(async (merchant: string, text: string) => {
      const [id, name] = [merchantArg(merchant), nameArg('<name>', text)];
      const act = context.actor('project renamed');
      await context.operate(async (parts) => {
        await parts.get(Projects).change(id, { name }, act);
        const view = await parts.get(Projects).get(id);
        context.print(projectText(view), projectJson(view));
      });
    });
}

function addCreate(project: Command, context: CliContext): void {
  project
    .command('create')
    .description('create a project, and print its Merchant ID and, only once, its API key')
    .requiredOption('--name <name>', 'name of the project')
    .option('--credits <credits>', 'initial credits; 10 000 000 = 1 USD', creditsArg)
    .option('--test', 'create a test project, permanently: its orders are simulated and its credits are play money')
    .option('--postpaid', 'allow debt')
    .option('--debt-limit <credits>', 'maximum debt of a postpaid project', creditsArg)
    .option('--unlimited', 'postpaid without a limit')
    .action(async (options: TermsOptions & { name: string; credits?: Credits; test?: boolean }) => {
      const name = nameArg('--name', options.name);
      const terms = termsOf(options) ?? { kind: 'prepaid' };
      const act = context.actor('project created');
      if (options.unlimited === true) await context.confirm(`This lets ${name} buy without a limit.`);
      await context.operate(async (parts) => {
        const projects = parts.get(Projects);
        const ledger = parts.get(Ledger);
        const { id, apiKey } = await projects.create(name, terms, act, options.test === true);
        const credits = options.credits ?? (0n as Credits);
        const reference = `project-create:${randomUUID()}`;
        const bookCredits = async (): Promise<unknown> =>
          credits > 0n ? ledger.topUp(id, credits, reference, act) : undefined;
        await bookCredits().catch((error: unknown) => {
          // The project exists already, and its key is shown only once.
          context.print(keyText(id, apiKey), { merchant: id, api_key: apiKey });
          const todo = `The project exists, but its credits may be missing. Run \`credits topup ${id} --credits ${credits.toString()} --ref ${reference}\`, which books them only once.`;
          throw new OperatorError(`${reasonOf(error)}. ${todo}`, 1, 'OUTCOME_UNKNOWN');
        });
        const view = await projects.get(id);
        context.print(`${projectText(view)}\n\n${keyText(id, apiKey)}`, { ...projectJson(view), api_key: apiKey });
      });
    });
}

function addReads(project: Command, context: CliContext): void {
  project
    .command('list')
    .description('list all projects')
    .action(() =>
      context.operate(async (parts) => {
        const views = await parts.get(Projects).list();
        const human = table(
          ['merchant', 'name', 'state', 'terms', 'credits', 'created'],
          views.map((view) => [
            view.id,
            view.name,
            stateText(view),
            termsText(view),
            view.balance_credits,
            view.created_at,
          ]),
          'No projects yet: `project create`.',
        );
        context.print(human, { projects: views.map(projectJson) });
      }),
    );
  project
    .command('show <merchant>')
    .description('show a project’s balance, terms and options')
    .action(async (merchant: string) => {
      const id = merchantArg(merchant);
      await context.operate(async (parts) => {
        const view = await parts.get(Projects).get(id);
        context.print(projectText(view), projectJson(view));
      });
    });
}

function addRequests(project: Command, context: CliContext): void {
  project
    .command('requests <merchant>')
    .description('list requests that named the project and were refused in the last 7 days, newest first')
    .option('--limit <n>', 'number of entries, at most 1000 (default: 20)', integerArg(1n, REQUESTS_MAX))
    .action(async (merchant: string, options: { limit?: bigint }) => {
      const id = merchantArg(merchant);
      await context.operate(async (parts) => {
        await parts.get(Projects).get(id);
        const { items } = await parts.get(RequestHistory).list(id, Number(options.limit ?? 20n), undefined);
        const rows = items.map((item) => [
          item.at,
          `${item.status.toString()} ${item.error}`,
          `${item.method} ${item.path}`,
          item.source_address,
          item.key ?? '',
          item.omitted === 0 ? item.reason : `${item.reason} (after ${item.omitted.toString()} more of the same)`,
          item.request_id,
        ]);
        const heads = ['at', 'answer', 'request', 'from', 'key', 'reason', 'request id'];
        context.print(table(heads, rows, 'No request was refused in the last 7 days.'), {
          requests: items,
        });
      });
    });
}

function addFreezing(project: Command, context: CliContext): void {
  const change = async (merchant: string, isFrozen: boolean): Promise<void> => {
    const id = merchantArg(merchant);
    const act = context.actor(isFrozen ? 'frozen' : 'unfrozen');
    await context.operate(async (parts) => {
      if (isFrozen) {
        const { name } = await parts.get(Projects).get(id);
        await context.confirm(`This refuses all requests of ${name} (${id}) until it is unfrozen.`);
      }
      await parts.get(Ledger).setFrozen(id, isFrozen, act);
      const view = await parts.get(Projects).get(id);
      context.print(
        `${view.name} is ${view.frozen ? 'frozen: all its requests are refused' : 'active'}${view.frozen === isFrozen ? '' : '; another command has changed it since'}.`,
        projectJson(view),
      );
    });
  };
  project
    .command('freeze <merchant>')
    .description('refuse all requests of a project immediately; open orders are still delivered and reclaimed')
    .action((merchant: string) => change(merchant, true));
  project
    .command('unfreeze <merchant>')
    .description('accept its requests again')
    .action((merchant: string) => change(merchant, false));
}

function addTerms(project: Command, context: CliContext): void {
  project
    .command('terms <merchant>')
    .description('change the terms of a project')
    .option('--prepaid', 'prepaid')
    .option('--postpaid', 'allow debt')
    .option('--debt-limit <credits>', 'maximum debt of a postpaid project', creditsArg)
    .option('--unlimited', 'postpaid without a limit')
    .action(async (merchant: string, options: TermsOptions) => {
      const id = merchantArg(merchant);
      const terms = termsOf(options);
      if (terms === undefined)
        throw usageError('The terms are missing. Pass --prepaid, --postpaid --debt-limit N or --postpaid --unlimited.');
      const act = context.actor('terms changed');
      if (options.unlimited === true) await context.confirm(`This lets ${id} buy without a limit.`);
      await context.operate(async (parts) => {
        await parts.get(Ledger).setTerms(id, terms, act);
        const view = await parts.get(Projects).get(id);
        context.print(`${view.name}: ${termsText(view)}.`, projectJson(view));
      });
    });
}

function addOptions(project: Command, context: CliContext): void {
  project
    .command('options <merchant>')
    .description('change the requirements on a project’s requests; without options, show them')
    .option('--signatures <md5|hmac|either>', 'accepted signatures', choiceArg(SIGNATURE_SCHEMES))
    .option('--require-idempotency-key <on|off>', 'orders require an Idempotency-Key', switchArg)
    .option('--require-quote <on|off>', 'orders require a quote_ref', switchArg)
    .option('--allow-source <address...>', 'accept only these addresses or CIDR ranges; replaces the list', sourceArg)
    .option('--any-source', 'accept every address')
    .option('--daily-cap <credits>', 'the most it may spend per UTC day', creditsArg)
    .option('--daily-cap-off', 'remove the daily cap')
    .option('--low-balance <credits>', 'threshold of the event balance.low', signedCreditsArg)
    .option('--low-balance-off', 'disable the event balance.low')
    .action(async (merchant: string, options: OptionFlags) => {
      const id = merchantArg(merchant);
      if (options.anySource === true && options.allowSource !== undefined) {
        throw usageError('--any-source and --allow-source cannot be combined.');
      }
      if (options.dailyCapOff === true && options.dailyCap !== undefined) {
        throw usageError('--daily-cap and --daily-cap-off cannot be combined.');
      }
      if (options.lowBalanceOff === true && options.lowBalance !== undefined) {
        throw usageError('--low-balance and --low-balance-off cannot be combined.');
      }
      const { requireIdempotencyKey, requireQuote, lowBalance } = options;
      const allowedSources = options.anySource === true ? [] : options.allowSource;
      const dailyCapCredits = options.dailyCapOff === true ? null : options.dailyCap;
      const lowBalanceCredits = options.lowBalanceOff === true ? null : lowBalance;
      const changes: ProjectChanges = {
        ...(options.signatures !== undefined && { signatureSchemes: options.signatures }),
        ...(requireIdempotencyKey !== undefined && { requireIdempotencyKey }),
        ...(requireQuote !== undefined && { requireQuote }),
        ...(allowedSources !== undefined && { allowedSources }),
        ...(dailyCapCredits !== undefined && { dailyCapCredits }),
        ...(lowBalanceCredits !== undefined && { lowBalanceCredits }),
      };
      const act = context.actor('options changed');
      await context.operate(async (parts) => {
        if (Object.keys(changes).length > 0) await parts.get(Projects).change(id, changes, act);
        const view = await parts.get(Projects).get(id);
        context.print(projectText(view), projectJson(view));
        if (lowBalance !== undefined && view.balance_credits < lowBalance)
          context.warn(
            'The balance is already below the threshold. The event is sent when the balance has risen above it and falls again.',
          );
      });
    });
}

/** Returns the terms given on the command line; undefined without any. */
function termsOf(options: TermsOptions): BillingTerms | undefined {
  if (options.prepaid === true && options.postpaid === true) {
    throw usageError('--prepaid and --postpaid cannot be combined.');
  }
  if (options.postpaid === true) {
    if (options.unlimited === true && options.debtLimit !== undefined) {
      throw usageError('--unlimited and --debt-limit cannot be combined.');
    }
    if (options.unlimited !== true && options.debtLimit === undefined) {
      throw usageError('A postpaid project needs a limit. Pass --debt-limit N, or --unlimited for none.');
    }
    return { kind: 'postpaid', debtLimitCredits: options.debtLimit };
  }
  if (options.debtLimit !== undefined || options.unlimited === true) {
    throw usageError('--debt-limit applies to postpaid projects only. Add --postpaid.');
  }
  return options.prepaid === true ? { kind: 'prepaid' } : undefined;
}

function stateText({ frozen, test }: ProjectView): string {
  return `${test ? 'test, ' : ''}${frozen ? 'frozen' : 'active'}`;
}

function termsText(view: ProjectView): string {
  if (!view.is_postpaid) return 'prepaid';
  if (view.floor_credits === null) return 'postpaid, no limit';
  return `postpaid to ${grouped(0n - view.floor_credits)}`;
}

function keyText(id: string, apiKey: string): string {
  return `${fields([
    ['Merchant ID', id],
    ['API key', apiKey],
  ])}\n\nThe API key is shown only once. Store it safely; \`project rotate-key\` creates a new one.`;
}

function projectText(view: ProjectView): string {
  return fields([
    ['Project', view.name],
    ['Merchant ID', view.id],
    ['State', stateText(view)],
    ['Balance', creditsText(view.balance_credits)],
    ['Terms', termsText(view)],
    ['Daily cap', view.daily_cap_credits === null ? 'none' : creditsText(view.daily_cap_credits)],
    ['Low balance', view.low_balance_credits === null ? 'no event' : creditsText(view.low_balance_credits)],
    ['Signatures', { md5: 'MD5 only', hmac: 'HMAC only', either: 'HMAC and MD5' }[view.signature_schemes]],
    ['Idempotency-Key', view.require_idempotency_key ? 'required' : 'optional'],
    ['Quote', view.require_quote ? 'required' : 'optional'],
    ['Sources', view.allowed_sources.length === 0 ? 'any' : view.allowed_sources.join(', ')],
    ['Created', view.created_at],
  ]);
}

function projectJson(view: ProjectView): Record<string, unknown> {
  return {
    merchant: view.id,
    name: view.name,
    frozen: view.frozen,
    test: view.test,
    credits_balance: view.balance_credits,
    is_postpaid: view.is_postpaid,
    debt_limit_credits: view.floor_credits === null ? null : 0n - view.floor_credits,
    daily_cap_credits: view.daily_cap_credits,
    low_balance_credits: view.low_balance_credits,
    signatures: view.signature_schemes,
    require_idempotency_key: view.require_idempotency_key,
    require_quote: view.require_quote,
    allowed_sources: view.allowed_sources,
    created_at: view.created_at,
  };
}
