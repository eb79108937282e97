/** `verify`: the proof that the books are true, on the live system, without writing anything. */
import type { Command } from 'commander';
import { TronClient } from '../chain/tron.client.js';
import { Database } from '../store/database.js';
import { countOf, type CheckResult, type Finding, type Report } from '../verify/finding.js';
import { verifyBooks } from '../verify/verify.js';
import { integerArg } from './arguments.js';
import type { Desk } from './desk.js';
import { OperatorError } from './fault.js';
import { grouped } from './layout.js';

const secondsArg = integerArg(0n, 31_536_000n);
const blocksArg = integerArg(0n, 10_000_000n);
const ROWS_SHOWN = 10;

interface VerifyOptions {
  readonly chain: boolean;
  readonly quick?: boolean;
  readonly settleWithin?: bigint;
  readonly blocks?: bigint;
  readonly scan?: bigint;
}

export function addVerifyCommands(program: Command, desk: Desk): void {
  program
    .command('verify')
    .description('hold the books against their rules and the chain; exit code 1 when anything disagrees')
    .option('--no-chain', 'judge the books alone')
    .option('--quick', 'read delegations one by one only where a wallet’s sums disagree')
    .option(
      '--settle-within <sec>',
      'how old an order may be that is not settled (default 900; 0: none may be open)',
      secondsArg,
    )
    .option(
      '--blocks <n>',
      'blocks with final transactions of ours to read again, newest first (default 1000)',
      blocksArg,
    )
    .option('--scan <n>', 'newest solid blocks to search for acts that nobody recorded (default 40)', blocksArg)
    .action((options: VerifyOptions) =>
      desk.operate(async (parts) => {
        const report = await verifyBooks(parts.get(Database), {
          chain: options.chain ? parts.get(TronClient) : undefined,
          ...(options.quick === true && { pairs: 'suspicious' as const }),
          ...(options.settleWithin !== undefined && { settleWithinSec: Number(options.settleWithin) }),
          ...(options.blocks !== undefined && { blocksMax: Number(options.blocks) }),
          ...(options.scan !== undefined && { scanBlocks: Number(options.scan) }),
        });
        const unmade = options.chain ? report.unmade : [];
        const isTrue = countOf(report) === 0 && unmade.length === 0;
        desk.print(reportText({ ...report, unmade }), { ok: isTrue, violations: countOf(report), ...report, unmade });
        if (!isTrue) throw new OperatorError(summary({ ...report, unmade }), 1, 'NOT_TRUE');
      }),
    );
}

function summary(report: Report): string {
  const broken = report.checks.filter((check) => check.count > 0);
  const parts = [
    ...(broken.length === 0
      ? []
      : [`${grouped(BigInt(countOf(report)))} violations of ${broken.map((check) => check.check).join(', ')}`]),
    ...(report.unmade.length === 0 ? [] : [`not judged: ${report.unmade.map(({ check }) => check).join(', ')}`]),
  ];
  return parts.length === 0 ? 'Everything agrees.' : `${parts.join('; ')}.`;
}

function reportText(report: Report): string {
  const lines = report.checks.map(checkText);
  const unmade = report.unmade.map(({ check, why }) => `  ??  ${check}: not judged: ${why}`);
  const took = `${(report.tookMs / 1000).toFixed(1)} s`;
  return [...lines, ...unmade, '', `${summary(report)} (${took})`].join('\n');
}

function checkText(check: CheckResult): string {
  const mark = check.count === 0 ? 'ok' : 'NO';
  const covered = check.covered === undefined ? '' : ` (${check.covered})`;
  const head = `  ${mark}  ${check.rule.padEnd(3)} ${check.check}: ${check.says}${covered}`;
  if (check.count === 0) return head;
  const rows = check.findings.slice(0, ROWS_SHOWN).map((finding) => `        ${findingText(finding)}`);
  const more = check.count - rows.length;
  return [head, ...rows, ...(more > 0 ? [`        … and ${grouped(BigInt(more))} more`] : [])].join('\n');
}

export function findingText(finding: Finding): string {
  const facts = Object.entries(finding.facts)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${String(value)}`);
  return `${finding.subject}: ${facts.join(', ')} [${finding.fingerprint}]`;
}
