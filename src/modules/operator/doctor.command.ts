/** `doctor`: checks every dependency and setting, and reports each fault with its remedy. Changes nothing. */
import type { INestApplicationContext } from '@nestjs/common';
import { Option, type Command } from 'commander';
import { TronClient } from '../../platform/chain/tron.client.js';
import { Config, ConfigError, readConfig } from '../../platform/config/config.js';
import { reasonOf, StartError } from '../../domain/errors.js';
import { Database, sqlStateOf } from '../../platform/database/database.js';
import { historyFromRecords } from '../verify/final-transactions.js';
import { integerArg } from './arguments.js';
import { HeldRates } from '../billing/held-rates.js';
import type { CliContext } from './cli-context.js';
import { findingText } from './finding-text.js';
import { checkSizing } from '../diagnostics/doctor-sizing.js';
import { checkHistory, checkNodes, checkToken, checkWallets } from '../diagnostics/doctor-chain.js';
import { checkCalls, checkFees } from '../diagnostics/doctor-market.js';
import {
  checkBandwidth,
  checkHeldRate,
  checkIntervals,
  checkPrices,
  checkRates,
  checkSecrets,
  checkSignatures,
  checkSigner,
  checkWork,
} from '../diagnostics/doctor-service.js';
import { checkDeposits } from '../diagnostics/doctor-deposits.js';
import { checkDatabase, checkRedis } from '../diagnostics/doctor-stores.js';
import { DepositAddresses } from '../deposits/deposit-addresses.js';
import { DepositTokens } from '../deposits/deposit-tokens.js';
import { OperatorError } from '../../domain/operator-error.js';
import { fault, warning, type DoctorFinding } from '../diagnostics/doctor-finding.js';
import { KeyRewrap } from './key-rewrap.js';
import { PoolWallets } from '../pool/pool-wallets.js';
import { Prices } from '../quotes/prices.js';

const MARKS = { ok: '✓', warning: '!', fault: '✗' } as const;
const patienceArg = integerArg(1n, 300n);

export function addDoctorCommand(program: Command, context: CliContext): void {
  program
    .command('doctor')
    .description('check all dependencies and settings; exit code 1 if something does not work')
    .addOption(
      new Option('--patience <sec>', 'how long to wait for a node’s next block')
        .argParser(patienceArg)
        .default(10n, '10'),
    )
    .action(async ({ patience }: { patience: bigint }) => {
      const findings = await examine(context, Number(patience) * 1000);
      const faults = findings.filter((finding) => finding.state === 'fault').length;
      context.print(findings.map((each) => findingText(MARKS[each.state], each)).join('\n'), {
        ok: faults === 0,
        findings,
      });
      if (faults > 0)
        throw new OperatorError(`${faults === 1 ? '1 fault' : `${faults.toString()} faults`}.`, 1, 'FAULTS');
    });
}

async function examine(context: CliContext, patienceMs: number): Promise<DoctorFinding[]> {
  let config: Config;
  try {
    config = readConfig(context.terminal.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const todo = 'Correct the setting; .env.example describes it. The other checks did not run.';
    return error.faults.map((says) => fault('settings', `${says}.`, todo));
  }
  const [database, redis, nodes, rates] = await Promise.all([
    checkDatabase(config),
    checkRedis(config),
    checkNodes(config, patienceMs),
    checkRates(config),
  ]);
  const isReadable = !database.some((finding) => finding.state === 'fault');
  const inside = isReadable
    ? await context.operate((parts) => lookInside(parts)).catch(refusedStart)
    : [warning('other checks', 'Secrets, prices, wallets and work were not checked.', 'Fix the database first.')];
  return [...database, ...redis, ...nodes, ...rates, ...checkIntervals(config), ...inside];
}

/** An error that keeps other commands and processes from starting is a finding here. */
function refusedStart(error: unknown): DoctorFinding[] {
  if (sqlStateOf(error) === '42501') {
    const says = `The login of DATABASE_URL lacks a permission that the doctor needs (${reasonOf(error)}).`;
    return [fault('login', says, 'Run the doctor with the login of the command line, energy_cli_login.')];
  }
  if (!(error instanceof StartError)) throw error;
  const [says = '', ...todo] = error.message.split(/(?<=\.) /);
  return [fault(error.code === 'WRONG_KEY' ? 'master key' : 'start', says, todo.join(' '))];
}

async function tokenOf(parts: INestApplicationContext) {
  const { current } = await parts.get(DepositTokens).history();
  return { recorded: current, configured: parts.get(Config).chain.tokenContract };
}

async function lookInside(parts: INestApplicationContext): Promise<DoctorFinding[]> {
  const config = parts.get(Config);
  const tron = parts.get(TronClient);
  const wallets = await parts.get(PoolWallets).listInUse();
  const prices = await parts.get(Prices).list();
  return [
    ...(await checkHistory(tron, historyFromRecords(parts.get(Database)))),
    ...(await checkToken(tron, config)),
    ...(await checkSizing(tron, config, wallets, parts.get(Database))),
    ...(await checkFees(tron, config)),
    ...(await checkCalls(tron, config)),
    ...checkSecrets(await parts.get(KeyRewrap).countSecrets()),
    ...(await checkWallets(tron, wallets, config)),
    ...(await checkSigner(config, wallets)),
    ...(await checkPrices(prices, tron, config)),
    ...checkBandwidth(prices, wallets),
    ...(await checkHeldRate(parts.get(HeldRates))),
    ...(await checkSignatures(parts.get(Database))),
    ...(await checkWork(parts.get(Database))),
    // The type argument keeps the compiler from taking the expected type for that of the provider.
    ...(await checkDeposits(parts.get(Database), parts.get<DepositAddresses>(DepositAddresses), await tokenOf(parts), {
      tron,
      rates: config.rates,
    })),
  ];
}
