/**
 * `verify`: checks the records against their rules and the chain on the live system. `verify` itself writes nothing;
 * its subcommands record explanations.
 */
import { Option, type Command } from 'commander';
import type { INestApplicationContext } from '@nestjs/common';
import { TronClient } from '../../platform/chain/tron.client.js';
import type { HoldingsReport } from '../../domain/holdings-report.js';
import { DepositAudit } from '../deposits/deposit-audit.js';
import { Database } from '../../platform/database/database.js';
import { SalesHold } from '../pool/sales-hold.js';
import { countOf, type CheckResult, type Finding, type Report } from '../verify/finding.js';
import { verifyRecords } from '../verify/verify.js';
import { integerArg } from './arguments.js';
import type { CliContext } from './cli-context.js';
import { OperatorError, usageError } from '../../domain/operator-error.js';
import { grouped, timeText } from '../../domain/text.js';
import { table } from './format.js';
import { ProgressLine } from './progress-line.js';

const limitArg = integerArg(1n, 1000n);
const secondsArg = integerArg(0n, 31_536_000n);
const blocksArg = integerArg(0n, 10_000_000n);
const ROWS_SHOWN = 10;
/** More disagreements need a search for their cause, not one explanation each. */
const EXPLAINED_MAX = 100_000;

interface VerifyOptions {
  readonly chain: boolean;
  readonly full?: boolean;
  readonly quick?: boolean;
  readonly pairs?: bigint;
  readonly settleWithin?: bigint;
  readonly blocks?: bigint;
  readonly scan?: bigint;
}

interface ExplainOptions {
  readonly all?: boolean;
  readonly chain: boolean;
}

export function addVerifyCommands(program: Command, context: CliContext): void {
  const verify = program
    .command('verify')
    .description('check the records against their rules and the chain; exit code 1 on any finding')
    .option('--full', 'check everything again, not only records that are open, changed or next in turn')
    .option('--no-chain', 'check only the records, not the chain')
    .option('--pairs <n>', 'maximum of delegations to read one by one (default 20000, beyond that a sample)', blocksArg)
    .option('--quick', 'read single delegations only where a wallet’s sums differ')
    .option(
      '--settle-within <sec>',
      'maximum age of an order that is not settled (default 900; 0: no order may be open)',
      secondsArg,
    )
    .option(
      '--blocks <n>',
      'number of newest blocks with our final transactions to read again (default 1000)',
      blocksArg,
    )
    .option('--scan <n>', 'number of newest solid blocks to search for unrecorded acts (default 40)', blocksArg)
    .action((options: VerifyOptions) => runVerify(context, options));
  verify
    .command('explain [fingerprints...]')
    .description('explain the named findings (or --all); sales resume when no finding is left')
    .option('--all', 'all current findings')
    .option('--no-chain', 'only findings in the records, if no node answers')
    .action((fingerprints: string[], options: ExplainOptions) => explain(context, fingerprints, options));
  verify
    .command('explained')
    .description('list explained findings, with the amount up to which each is explained')
    .addOption(new Option('--limit <n>', 'number of entries, newest first').argParser(limitArg).default(100n, '100'))
    .action((options: { limit: bigint }) =>
      context.operate(async (parts) => {
        const explained = await parts.get(SalesHold).explained(Number(options.limit));
        const rows = explained.map((row) => [
          ...[row.fingerprint, row.checkName, row.subject, row.amount, row.explainedAt, row.actor, row.reason],
        ]);
        const head = ['fingerprint', 'check', 'subject', 'up to', 'at', 'by', 'reason'];
        context.print(table(head, rows, 'No finding is explained.'), { explained });
      }),
    );
  verify
    .command('withdraw <fingerprints...>')
    .description('withdraw explanations; findings that still exist stop sales again')
    .action((fingerprints: string[]) => withdraw(context, fingerprints));
}

async function runVerify(context: CliContext, options: VerifyOptions): Promise<void> {
  await context.operate(async (parts) => {
    const progress = new ProgressLine(context.terminal);
    const report = await verifyRecords(parts.get(Database), {
      chain: options.chain ? parts.get(TronClient) : undefined,
      holdings: options.chain && options.full === true ? () => holdingsOf(parts) : undefined,
      depth: options.full === true ? 'everything' : 'newer',
      ...(options.full === true && { onProgress: progress.show }),
      ...(options.pairs !== undefined && { pairsMax: Number(options.pairs) }),
      ...(options.quick === true && { pairs: 'suspicious' as const }),
      ...(options.settleWithin !== undefined && { settleWithinSec: Number(options.settleWithin) }),
      ...(options.blocks !== undefined && { blocksMax: Number(options.blocks) }),
      ...(options.scan !== undefined && { scanBlocks: Number(options.scan) }),
    });
    progress.end();
    const unmade = options.chain ? report.unmade : [];
    const isTrue = countOf(report) === 0 && unmade.length === 0;
    const { judged: _kept, ...shown } = report;
    context.print(reportText({ ...report, unmade }), { ok: isTrue, violations: countOf(report), ...shown, unmade });
    const stop = await parts.get(SalesHold).currentStop();
    if (stop !== undefined) context.warn(`Sales are stopped since ${timeText(stop.stoppedAt)}: ${stop.reason}.`);
    if (!isTrue) throw new OperatorError(summary({ ...report, unmade }), 1, 'NOT_TRUE');
  });
}

/** Returns the audit of deposit addresses; undefined if deposits are not in use. */
async function holdingsOf(parts: INestApplicationContext): Promise<HoldingsReport | undefined> {
  const accounts = await parts.get(Database).query(`SELECT FROM deposit_account LIMIT 1`);
  return accounts.length === 0 ? undefined : parts.get(DepositAudit).run();
}

async function explain(context: CliContext, fingerprints: readonly string[], options: ExplainOptions): Promise<void> {
  if (fingerprints.length > 0 === (options.all === true)) {
    throw usageError('The findings are missing. Name their fingerprints (`verify` shows them), or pass --all.');
  }
  const author = context.actor();
  await context.operate(async (parts) => {
    const hold = parts.get(SalesHold);
    const chain = options.chain ? parts.get(TronClient) : undefined;
    const report = await verifyRecords(parts.get(Database), {
      chain,
      holdings: options.chain ? () => holdingsOf(parts) : undefined,
      findingsMax: EXPLAINED_MAX,
    });
    const found = report.checks.flatMap((check) => check.findings.map((finding) => ({ finding, stops: check.stops })));
    const known = new Set(found.map(({ finding }) => finding.fingerprint));
    const missing = fingerprints.filter((fingerprint) => !known.has(fingerprint));
    if (missing.length > 0) throw new OperatorError(`There is no longer a finding ${missing.join(', ')}.`);
    const isChosen = (finding: Finding): boolean => options.all === true || fingerprints.includes(finding.fingerprint);
    const chosen = found.filter(({ finding }) => isChosen(finding)).map(({ finding }) => finding);
    const left = found.filter(({ finding, stops }) => stops !== 'nothing' && !isChosen(finding)).length;
    await context.confirm(`This explains ${chosen.length.toString()} findings, with your name and reason.`);
    await hold.explain(chosen, author, left === 0);
    const outcome =
      left === 0
        ? 'Sales are no longer stopped by findings.'
        : `${left.toString()} findings are left, so sales stay stopped.`;
    const human = [
      ...chosen.slice(0, ROWS_SHOWN).map(findingText),
      `${chosen.length.toString()} explained. ${outcome}`,
    ];
    context.print(human.join('\n'), { explained: chosen, left, resumed: left === 0 });
  });
}

async function withdraw(context: CliContext, fingerprints: readonly string[]): Promise<void> {
  const author = context.actor();
  await context.operate(async (parts) => {
    await context.confirm('Findings that still exist stop sales again within a minute.');
    const gone = await parts.get(SalesHold).withdraw(fingerprints, author);
    const missing = fingerprints.filter((fingerprint) => !gone.includes(fingerprint));
    if (gone.length === 0) {
      throw new OperatorError(`There is no explanation of ${missing.join(', ')}; \`verify explained\` lists all.`);
    }
    if (missing.length > 0) context.warn(`There is no explanation of ${missing.join(', ')}.`);
    context.print(`${gone.length.toString()} explanations withdrawn.`, { withdrawn: gone });
  });
}

function summary(report: Report): string {
  const broken = report.checks.filter((check) => check.count > 0);
  const parts = [
    ...(broken.length === 0
      ? []
      : [`${grouped(BigInt(countOf(report)))} violations of ${broken.map((check) => check.check).join(', ')}`]),
    ...(report.unmade.length === 0 ? [] : [`not checked: ${report.unmade.map(({ check }) => check).join(', ')}`]),
  ];
  return parts.length === 0 ? 'Everything agrees.' : `${parts.join('; ')}.`;
}

function reportText(report: Report): string {
  const lines = report.checks.map(checkText);
  const unmade = report.unmade.map(({ check, why }) => `  ??  ${check}: not checked: ${why}`);
  const took = `${(report.tookMs / 1000).toFixed(1)} s`;
  return [...lines, ...unmade, '', `${summary(report)} (${took})`].join('\n');
}

function checkText(check: CheckResult): string {
  const mark = check.count === 0 ? 'ok' : 'NO';
  const covered = check.covered === undefined ? '' : ` (${check.covered})`;
  const known = check.explained === undefined ? '' : `; ${check.explained.toString()} explained`;
  const head = `  ${mark}  ${check.rule.padEnd(3)} ${check.check}: ${check.says}${covered}`;
  if (check.count === 0) return head + known;
  const rows = check.findings.slice(0, ROWS_SHOWN).map((finding) => `        ${findingText(finding)}`);
  const more = check.count - rows.length;
  return [head + known, ...rows, ...(more > 0 ? [`        … and ${grouped(BigInt(more))} more`] : [])].join('\n');
}

function findingText(finding: Finding): string {
  const facts = Object.entries(finding.facts)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${String(value)}`);
  return `${finding.subject}: ${facts.join(', ')} [${finding.fingerprint}]`;
}
