/** `pool list`: every wallet's state, and the pool's capacity now and in each of the next 24 hours. */
import type { INestApplicationContext } from '@nestjs/common';
import { ChainUnavailableError } from '../../platform/chain/errors.js';
import { TronClient } from '../../platform/chain/tron.client.js';
import { nowMs } from '../../platform/support/clock.js';
import { Config } from '../../platform/config/config.js';
import { sun } from '../../domain/units.js';
import { energyOfSun, type EnergyRatio } from '../pool/energy-ratio.js';
import { forecast, poolStanding, type ForecastHour } from '../pool/forecast.js';
import { Database } from '../../platform/database/database.js';
import type { CliContext } from './cli-context.js';
import { grouped, trxText } from '../../domain/text.js';
import { percentText, table } from './format.js';
import { PoolWallets, type WalletView } from '../pool/pool-wallets.js';

interface ChainNow {
  readonly at: Date;
  /** Undefined while no node answers; amounts are then shown in TRX only. */
  readonly ratio: EnergyRatio | undefined;
}

export async function listPool(context: CliContext, parts: INestApplicationContext): Promise<void> {
  const wallets = await parts.get(PoolWallets).list();
  const now = await chainNow(context, parts);
  const hours = forecast(await poolStanding(parts.get(Database), now.at));
  const human = [walletTable(wallets), '', forecastTable(hours, now.ratio)].join('\n');
  context.print(wallets.length === 0 ? walletTable(wallets) : human, {
    wallets,
    forecast: hours.map((each) => ({
      ...each,
      ...(now.ratio && {
        atLeastEnergy: energyOfSun(sun(each.atLeastSun), now.ratio),
        atMostEnergy: energyOfSun(sun(each.atMostSun), now.ratio),
      }),
    })),
  });
}

/** Rentals end by the chain's clock. Without a node this machine's clock is used. */
async function chainNow(context: CliContext, parts: INestApplicationContext): Promise<ChainNow> {
  const client = parts.get(TronClient);
  try {
    const head = await client.head();
    const ratio = await client.accountResources(parts.get(Config).chain.tokenContract);
    return { at: new Date(head.timestampMs), ratio };
  } catch (error) {
    if (!(error instanceof ChainUnavailableError)) throw error;
    context.warn('No node answers, so the hours are counted from this machine’s clock.');
    return { at: new Date(nowMs()), ratio: undefined };
  }
}

interface Span extends Omit<ForecastHour, 'hour'> {
  /** The first and last of consecutive equal hours. */
  readonly from: number;
  readonly to: number;
}

/** Merges consecutive equal hours. */
function spansOf(hours: readonly ForecastHour[]): readonly Span[] {
  const spans: Span[] = [];
  for (const { hour, ...figures } of hours) {
    const last = spans.at(-1);
    const isAlike =
      last?.atLeastSun === figures.atLeastSun &&
      last.atMostSun === figures.atMostSun &&
      last.transactions === figures.transactions;
    if (isAlike) spans[spans.length - 1] = { ...last, to: hour };
    else spans.push({ ...figures, from: hour, to: hour });
  }
  return spans;
}

function hourText({ from, to }: Span): string {
  const start = from === 0 ? 'now' : `in ${from.toString()} h`;
  return to === from ? start : `${start} to ${to.toString()} h`;
}

function forecastTable(hours: readonly ForecastHour[], ratio: EnergyRatio | undefined): string {
  const energyText = (amount: bigint): string => (ratio === undefined ? '–' : grouped(energyOfSun(sun(amount), ratio)));
  const rows = spansOf(hours).map((span) => [
    hourText(span),
    `${trxText(span.atLeastSun)}, ${energyText(span.atLeastSun)}`,
    `${trxText(span.atMostSun)}, ${energyText(span.atMostSun)}`,
    span.transactions,
  ]);
  const headings = ['can be sold', 'if all is used: TRX, energy', 'if none is', 'transactions'];
  return table(headings, rows);
}

function walletTable(wallets: readonly WalletView[]): string {
  return table(
    [
      ...['address', 'role', 'status', 'staked', 'delegated', 'reserved', 'recovering'],
      ...['free', 'free %', 'transactions', 'bandwidth: staked', 'bandwidth: delegated', 'bandwidth: reserved'],
      ...['bandwidth: free', 'balance', 'key held by', 'read'],
    ],
    wallets.map((wallet) => [
      wallet.address,
      wallet.role,
      statusText(wallet),
      trxText(wallet.staked_sun),
      trxText(wallet.delegated_sun),
      trxText(wallet.reserved_sun),
      trxText(wallet.recovering_sun),
      trxText(wallet.free_sun),
      percentText(wallet.free_sun, wallet.staked_sun),
      wallet.role === 'pool' ? grouped(wallet.free_transactions) : '–',
      ...bandwidthCells(wallet),
      trxText(wallet.balance_sun),
      wallet.key_held_by,
      wallet.read_at,
    ]),
    'No wallets yet: `pool add`.',
  );
}

function statusText({ status, pause_reason: reason, retired }: WalletView): string {
  return reason === null ? status : `${retired ? 'retired' : status}: ${reason}`;
}

/** Empty for a wallet without stake for bandwidth, whose entry then has no such lines. */
function bandwidthCells(wallet: WalletView): (string | null)[] {
  const { staked_bandwidth_sun: staked, delegated_bandwidth_sun: delegated } = wallet;
  const figures = [staked, delegated, wallet.reserved_bandwidth_sun, wallet.free_bandwidth_sun];
  return figures.map((sun) => (figures.every((each) => each === 0n) ? null : trxText(sun)));
}
