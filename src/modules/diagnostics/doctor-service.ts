/** The doctor's checks of secrets, prices and due work in the database, of exchange rates and of the signer. */
import { SocketSigner } from '../../platform/chain/socket-signer.js';
import { EXPIRATION_REMEDY, expirationFault } from '../pool/signer-expiration.js';
import type { TronClient } from '../../platform/chain/tron.client.js';
import type { HeldRates } from '../billing/held-rates.js';
import { RATE_SOURCE_NAMES, agreedRate, askSource, rateQuorum, rateSource } from '../billing/rate-sources.js';
import type { Config } from '../../platform/config/config.js';
import { messageOf } from '../../domain/errors.js';
import { rateText } from '../../domain/conversion.js';
import type { Database } from '../../platform/database/database.js';
import {
  DEFAULT_DURATION_SEC,
  bandwidthTable,
  betterByTheDay,
  cheapByTheDay,
  fewestUsesOf,
  mostUses,
  warningFor,
} from '../../domain/price.js';
import { fault, ok, warning, type DoctorFinding } from './doctor-finding.js';
import { durationText } from '../../domain/text.js';
import type { KindCount } from '../../platform/database/resealing.js';
import type { WalletView } from '../pool/pool-wallets.js';
import type { PriceRow } from '../../domain/price.js';

const RATE_TIMEOUT_MS = 4000;
const OVERDUE_SEC = 60;

/** Checks that every sealed secret opens. */
export function checkSecrets(counts: readonly KindCount[]): DoctorFinding[] {
  const findings: DoctorFinding[] = [];
  for (const { what, rewrapped, current, failed } of counts) {
    if (failed.length > 0) {
      const says = `${failed.length.toString()} of the ${what} cannot be decrypted: ${failed.slice(0, 5).join(', ')}.`;
      const todo =
        'Set MASTER_KEY (or MASTER_KEY_PREVIOUS) to the key that encrypted them, or derive the keys from it again. Otherwise create new secrets.';
      findings.push(fault('master key', says, todo));
    }
    if (rewrapped > 0) {
      const says = `${rewrapped.toString()} of the ${what} are encrypted under MASTER_KEY_PREVIOUS.`;
      findings.push(warning('master key', says, 'Run `npm run cli -- keys rewrap`.'));
    }
    if (what === 'canaries' && current + rewrapped + failed.length === 0) {
      const says = 'The database has no key canary, so a process with a wrong MASTER_KEY could start.';
      findings.push(warning('master key', says, 'Run `npm run -s cli -- migrate` with MASTER_KEY set.'));
    } else if (failed.length === 0 && rewrapped === 0)
      findings.push(ok('master key', `It decrypts all ${current.toString()} ${what}.`));
  }
  return findings;
}

/** Checks that the prices can sell: below the burn price, and for the default duration. */
export async function checkPrices(
  rows: readonly PriceRow[],
  tron: TronClient,
  { market }: Config,
): Promise<DoctorFinding[]> {
  const longest = rows.at(-1);
  if (longest === undefined) return [fault('prices', 'There are no prices.', 'Add one with `price set`.')];
  const findings: DoctorFinding[] = [];
  if (longest.durationMaxSec < DEFAULT_DURATION_SEC) {
    const says = `No price covers the default duration of ${durationText(DEFAULT_DURATION_SEC)}.`;
    findings.push(fault('prices', says, 'Add a longer row with `price set`.'));
  }
  for (const [index, row] of rows.entries()) {
    const shorter = rows[index - 1];
    if (shorter !== undefined && row.sunPerEnergy < shorter.sunPerEnergy) {
      const says = `${durationText(row.durationMaxSec)} cost less than ${durationText(shorter.durationMaxSec)}.`;
      findings.push(
        warning(
          'prices',
          says,
          'Check `price list`: merchants will rent the longer duration instead of the shorter one.',
        ),
      );
    }
  }
  for (const row of rows) {
    const better = betterByTheDay(row, rows);
    if (better === undefined) continue;
    findings.push(warning('prices', cheapByTheDay(row, better), 'Raise its price, or remove the row.'));
  }
  try {
    const { energyFeeSun: fee, transactionFeeSunPerByte } = await tron.chainParameters(market.parameterBounds);
    findings.push(...doubtsOfBandwidth(rows, transactionFeeSunPerByte));
    for (const row of rows.filter((each) => fewestUsesOf(each, fee) === undefined)) {
      const uses = mostUses(row.durationMaxSec);
      const burning = uses === 1 ? 'burning' : `burning ${uses.toString()} times`;
      const says = `Rentals up to ${durationText(row.durationMaxSec)} cost ${row.sunPerEnergy.toString()} sun per energy, ${burning} costs ${(fee * BigInt(uses)).toString()}.`;
      findings.push(
        row.durationMaxSec <= DEFAULT_DURATION_SEC
          ? fault('prices', says, 'Lower it with `price set`: every such order is refused with NOT_WORTH_RENTING.')
          : warning(
              'prices',
              says,
              'Orders of this duration are refused with NOT_WORTH_RENTING. Lower the price or remove it.',
            ),
      );
    }
  } catch (error) {
    findings.push(warning('prices', `The price of burning is unknown: ${messageOf(error)}.`, 'Fix the nodes first.'));
  }
  return findings.length > 0 ? findings : [ok('prices', 'Every price is below the price of burning.')];
}

/** Returns a warning for each row with bandwidth that costs as much as burning it. */
function doubtsOfBandwidth(rows: readonly PriceRow[], feeSunPerByte: bigint): DoctorFinding[] {
  const { rows: priced, unit } = bandwidthTable(rows);
  return priced.flatMap((row) => {
    const says = warningFor(row, feeSunPerByte, unit);
    return says === undefined ? [] : [warning('prices', says, 'Change it with `price set-bandwidth`.')];
  });
}

/** Checks that a wallet can sell bandwidth where it has a price. */
export function checkBandwidth(rows: readonly PriceRow[], wallets: readonly WalletView[]): DoctorFinding[] {
  if (bandwidthTable(rows).rows.length === 0) return [];
  const selling = wallets.filter((wallet) => wallet.role === 'pool' && wallet.free_bandwidth_sun > 0n);
  if (selling.length > 0) return [ok('bandwidth', `${selling.length.toString()} wallets can sell bandwidth.`)];
  const says = 'Bandwidth has a price, but no wallet can sell any now.';
  const todo =
    'Stake more for BANDWIDTH than POOL_BANDWIDTH_KEPT takes, or remove the prices with `price set-bandwidth`.';
  return [warning('bandwidth', says, todo)];
}

/** Checks that what is sold by is read again before it is too old. */
export function checkIntervals({ market, rates }: Config): DoctorFinding[] {
  const pairs = [
    ['MARKET_REFRESH_SEC', market.refreshSec, 'MARKET_MAX_AGE_SEC', market.maxAgeSec, 'nothing is sold'],
    ['RATE_REFRESH_SEC', rates.refreshSec, 'RATE_MAX_AGE_SEC', rates.maxAgeSec, 'no dollars are shown'],
  ] as const;
  return pairs.flatMap(([refresh, refreshSec, age, ageSec, effect]) =>
    refreshSec < ageSec
      ? []
      : [warning('intervals', `Between two readings, ${effect}.`, `Set ${refresh} to less than ${age}.`)],
  );
}

/** Checks that the exchanges answer and agree. */
export async function checkRates({ rates }: Config): Promise<DoctorFinding[]> {
  const names = [...new Set(rates.sources)];
  if (names.length === 1 && names[0] === 'static') {
    const says = `Charges use a fixed rate of ${rateText(rates.fallback)} USD per TRX.`;
    return [warning('rates', says, 'Name exchanges in RATE_SOURCES, except on a test chain.')];
  }
  const unknown = [...names, ...rates.sourceUrls.keys()].filter((name) => rateSource(name) === undefined);
  if (unknown.length > 0) {
    const todo = `RATE_SOURCES and RATE_SOURCE_URLS must name ${RATE_SOURCE_NAMES.join(', ')}; RATE_SOURCES alone also static.`;
    return [fault('rates', `These sources are unknown: ${unknown.join(', ')}.`, todo)];
  }
  const answers = await Promise.allSettled(
    names
      .flatMap((name) => rateSource(name) ?? [])
      .map((source) => askSource(source, rates.sourceUrls.get(source.name), RATE_TIMEOUT_MS)),
  );
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  const rate = agreedRate(found, rateQuorum(names.length));
  const count = `${found.length.toString()} of ${names.length.toString()} exchanges answer`;
  if (rate === undefined) {
    const todo =
      'Allow this machine to reach them, or name others in RATE_SOURCES. Until then, charges use the last known rate.';
    return [fault('rates', `${count}, too few of them alike: there is no current rate.`, todo)];
  }
  if (found.length < names.length) {
    return [
      warning(
        'rates',
        `${count}: ${rateText(rate)} USD per TRX.`,
        'Check which exchange is blocked or no longer exists.',
      ),
    ];
  }
  return [ok('rates', `${count}: ${rateText(rate)} USD per TRX.`)];
}

/** Reports a rate that waits for the operator; no findings otherwise. */
export async function checkHeldRate(rates: HeldRates): Promise<DoctorFinding[]> {
  const held = await rates.readHeld();
  if (held === undefined) return [];
  const says = `The exchanges agree on ${rateText(held.rate)} USD per TRX, but this rate is held. Charges continue at the last rate.`;
  return [
    fault('held rate', says, 'Compare it with the market: `price rate`. If it is right, run `price confirm-rate`.'),
  ];
}

/** Reports projects that accept a signature which does not cover the request's path, method and time. */
export async function checkSignatures(database: Database): Promise<DoctorFinding[]> {
  const [row] = await database.query<{ md5: number; limited: number }>(
    `SELECT count(*)::integer AS md5,
            (count(*) FILTER (WHERE p.require_quote AND p.allowed_sources <> '{}' AND a.daily_cap_credits IS NOT NULL))::integer AS limited
       FROM project p JOIN credit_account a ON a.project_id = p.id
      WHERE p.signature_schemes <> 'hmac' AND NOT a.frozen AND NOT p.test`,
  );
  const { md5 = 0, limited = 0 } = row ?? {};
  if (md5 === limited) {
    return [
      ok('signatures', md5 === 0 ? 'Every project accepts only HMAC.' : 'Every project that accepts MD5 is limited.'),
    ];
  }
  const open = md5 - limited;
  const says =
    `${open === 1 ? '1 project accepts MD5 and lacks' : `${open.toString()} projects accept MD5 and lack`} a limit. MD5 covers neither path nor method nor time: ` +
    'a captured quote request can be used to buy, and read requests can be repeated forever.';
  const todo =
    'Run `project options MERCHANT --signatures hmac`. Until its callers sign with HMAC, set `--require-quote on`, `--allow-source` and `--daily-cap`.';
  return [warning('signatures', says, todo)];
}

/** Checks that a worker does the due work. */
export async function checkWork(database: Database): Promise<DoctorFinding[]> {
  const [row] = await database.query<{
    overdue_sec: number;
    due: number;
    attention: number;
    unsynced_sec: number | null;
    is_without_node: boolean;
  }>(
    `SELECT coalesce(extract(epoch FROM clock_timestamp() - min(greatest(next_run_at, lease_until))), 0)::integer AS overdue_sec,
            (count(*) FILTER (WHERE greatest(next_run_at, lease_until) <= clock_timestamp()))::integer AS due,
            (SELECT count(*)::integer FROM orders WHERE needs_attention AND NOT test) AS attention,
            (SELECT extract(epoch FROM clock_timestamp() - min(coalesce(read_at, created_at)))::integer
               FROM pool_wallet) AS unsynced_sec,
            EXISTS (SELECT FROM market_state WHERE name = 'chain-failure' AND value ->> 'cause' = 'no-node'
               AND measured_at > clock_timestamp() - interval '5 minutes') AS is_without_node
       FROM orders WHERE next_run_at IS NOT NULL`,
  );
  const findings: DoctorFinding[] = [];
  const overdueSec = row?.overdue_sec ?? 0;
  const todo = 'Start a worker (`npm run start:worker`), or check its log.';
  if (overdueSec > OVERDUE_SEC) {
    const says = `${(row?.due ?? 0).toString()} orders are due, the oldest for ${durationText(overdueSec)}.`;
    findings.push(fault('worker', says, todo));
  } else if ((row?.unsynced_sec ?? 0) > OVERDUE_SEC) {
    const age = durationText(row?.unsynced_sec ?? 0);
    findings.push(
      row?.is_without_node === true
        ? fault(
            'worker',
            `The pool has not been read for ${age}, because no node answers.`,
            'Check the nodes of TRON_FULL_NODE_URLS first.',
          )
        : fault('worker', `No worker has read the pool for ${age}.`, todo),
    );
  } else findings.push(ok('worker', 'Nothing is overdue.'));
  const attention = row?.attention ?? 0;
  if (attention > 0) {
    const says = `${attention.toString()} orders need attention.`;
    findings.push(warning('orders', says, 'Run `orders list --attention`, then `orders explain`.'));
  }
  return findings;
}

/** Checks that the signer, if used, holds the keys of the pool and signs transactions with our expiration. */
export async function checkSigner(
  { secrets, chain }: Config,
  wallets: readonly WalletView[],
): Promise<DoctorFinding[]> {
  const elsewhere = wallets.filter((wallet) => wallet.key_held_by === 'signer');
  if (secrets.signerSocket === undefined) {
    if (elsewhere.length === 0) return [];
    const says = `A signer holds the keys of ${elsewhere.map((wallet) => wallet.address).join(', ')}, but no signer is configured.`;
    return [fault('signer', says, 'Set SIGNER_SOCKET, or run `pool set-key` with a key file.')];
  }
  const signer = new SocketSigner(secrets.signerSocket);
  try {
    const held = new Map((await signer.wallets()).map((wallet) => [wallet.address, wallet]));
    const findings = wallets.flatMap((wallet) => {
      const here = held.get(wallet.address);
      const matches = here?.key_address === wallet.key_address && here.permission_id === wallet.permission_id;
      if (matches && here.role === wallet.role) return [];
      const says = `The signer ${here === undefined ? 'does not hold' : 'holds another key, permission or role for'} ${wallet.address}.`;
      return [fault('signer', says, 'Correct its SIGNER_WALLETS_FILE and restart it, or run `pool set-key`.')];
    });
    const refusal = await expirationFault(signer, chain.expirationSec);
    if (refusal !== undefined) findings.push(fault('signer', `${refusal}.`, `${EXPIRATION_REMEDY}.`));
    return findings.length > 0
      ? findings
      : [ok('signer', `It holds the keys of all ${wallets.length.toString()} wallets.`)];
  } catch (error) {
    const todo =
      'Start it (`node dist/bundle/main.signer.js`) with the same SIGNER_SOCKET. Until then, nothing is delivered.';
    return [fault('signer', `${messageOf(error)}.`, todo)];
  } finally {
    signer.close();
  }
}
