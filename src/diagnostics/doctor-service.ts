/** The doctor's checks of secrets, prices and due work in the database, of exchange rates and of the signer. */
import { SocketSigner } from '../chain/socket-signer.js';
import type { TronClient } from '../chain/tron.client.js';
import type { HeldRates } from '../billing/held-rates.js';
import { RATE_SOURCE_NAMES, agreedRate, askSource, rateQuorum, rateSource } from '../billing/rate-sources.js';
import type { Config } from '../config/config.js';
import { messageOf } from '../domain/errors.js';
import { rateText } from '../domain/conversion.js';
import type { Database } from '../store/database.js';
import { DEFAULT_DURATION_SEC } from '../domain/price.js';
import { fault, ok, warning, type DoctorFinding } from './doctor-finding.js';
import { durationText } from '../domain/text.js';
import type { KindCount } from '../store/resealing.js';
import type { WalletView } from '../pool/pool-wallets.js';
import type { PriceRow } from '../domain/price.js';

const RATE_TIMEOUT_MS = 4000;
const OVERDUE_SEC = 60;

/** Checks that every sealed secret opens. */
export function lookAtSecrets(counts: readonly KindCount[]): DoctorFinding[] {
  const findings: DoctorFinding[] = [];
  for (const { what, rewrapped, current, failed } of counts) {
    if (failed.length > 0) {
      const says = `${failed.length.toString()} of the ${what} do not open: ${failed.slice(0, 5).join(', ')}.`;
      const todo =
        'Set MASTER_KEY (or MASTER_KEY_PREVIOUS) to the key they were sealed under, or derive anew from it; otherwise make new ones.';
      findings.push(fault('master key', says, todo));
    }
    if (rewrapped > 0) {
      const says = `${rewrapped.toString()} of the ${what} lie under MASTER_KEY_PREVIOUS.`;
      findings.push(warning('master key', says, 'Run `npm run cli -- keys rewrap`.'));
    }
    if (what === 'canaries' && current + rewrapped + failed.length === 0) {
      const says = 'The database has no canary of the keys, so a process with a wrong MASTER_KEY may start.';
      findings.push(warning('master key', says, 'Run `npm run -s cli -- migrate` with MASTER_KEY set.'));
    } else if (failed.length === 0 && rewrapped === 0)
      findings.push(ok('master key', `It opens all ${current.toString()} ${what}.`));
  }
  return findings;
}

/** Checks that the prices can sell: below the burn price, and for the default duration. */
export async function lookAtPrices(
  rows: readonly PriceRow[],
  tron: TronClient,
  { market }: Config,
): Promise<DoctorFinding[]> {
  const longest = rows.at(-1);
  if (longest === undefined) return [fault('prices', 'There is no price.', 'Set some: `price set`.')];
  const findings: DoctorFinding[] = [];
  if (longest.durationMaxSec < DEFAULT_DURATION_SEC) {
    const says = `No price holds for the default duration of ${durationText(DEFAULT_DURATION_SEC)}.`;
    findings.push(fault('prices', says, 'Add a longer row with `price set`.'));
  }
  for (const [index, row] of rows.entries()) {
    const shorter = rows[index - 1];
    if (shorter !== undefined && row.sunPerEnergy < shorter.sunPerEnergy) {
      const says = `${durationText(row.durationMaxSec)} cost less than ${durationText(shorter.durationMaxSec)}.`;
      findings.push(
        warning('prices', says, 'Look at `price list`: merchants will rent the longer and use the shorter.'),
      );
    }
  }
  try {
    const fee = (await tron.chainParameters(market.parameterBounds)).energyFeeSun;
    for (const row of rows.filter((each) => each.sunPerEnergy >= fee)) {
      const says = `Up to ${durationText(row.durationMaxSec)} costs ${row.sunPerEnergy.toString()} sun per energy, and burning ${fee.toString()}.`;
      findings.push(
        row.durationMaxSec <= DEFAULT_DURATION_SEC
          ? fault('prices', says, 'Lower it with `price set`: every such order is refused as NOT_WORTH_RENTING.')
          : warning('prices', says, 'Orders of this duration are refused as NOT_WORTH_RENTING; lower it or remove it.'),
      );
    }
  } catch (error) {
    findings.push(warning('prices', `The burn price is unknown: ${messageOf(error)}.`, 'Set the nodes right first.'));
  }
  return findings.length > 0 ? findings : [ok('prices', 'Every price is below what burning costs.')];
}

/** Checks that the exchanges answer and agree. */
export async function lookAtRates({ rates }: Config): Promise<DoctorFinding[]> {
  const names = [...new Set(rates.sources)];
  if (names.length === 1 && names[0] === 'static') {
    const says = `Credits are charged at ${rateText(rates.fallback)} USD per TRX, whatever the market says.`;
    return [warning('rates', says, 'Name exchanges in RATE_SOURCES, unless the chain is a test.')];
  }
  const unknown = names.filter((name) => rateSource(name) === undefined);
  if (unknown.length > 0) {
    const todo = `RATE_SOURCES may name ${RATE_SOURCE_NAMES.join(', ')}, or static alone.`;
    return [fault('rates', `Nobody knows ${unknown.join(', ')}.`, todo)];
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
      'Let this machine reach them, or name others in RATE_SOURCES; until then the last rate ever seen is charged.';
    return [fault('rates', `${count}, too few of them alike: there is no fresh rate.`, todo)];
  }
  if (found.length < names.length) {
    return [warning('rates', `${count}: ${rateText(rate)} USD per TRX.`, 'Look which one is blocked or gone.')];
  }
  return [ok('rates', `${count}: ${rateText(rate)} USD per TRX.`)];
}

/** Reports a rate that waits for the operator; no findings otherwise. */
export async function lookAtHeldRate(rates: HeldRates): Promise<DoctorFinding[]> {
  const held = await rates.look();
  if (held === undefined) return [];
  const says = `The exchanges agree on ${rateText(held.rate)} USD per TRX, which is held back; charges go on at the last rate.`;
  return [
    fault('held rate', says, 'Compare it with the market: `price rate`, then `price confirm-rate` if it is right.'),
  ];
}

/** Reports projects that accept a signature which does not cover the request's path, method and time. */
export async function lookAtSignatures(database: Database): Promise<DoctorFinding[]> {
  const [row] = await database.query<{ md5: number; limited: number }>(
    `SELECT count(*)::integer AS md5,
            (count(*) FILTER (WHERE p.require_quote AND p.allowed_sources <> '{}' AND a.daily_cap_credits IS NOT NULL))::integer AS limited
       FROM project p JOIN credit_account a ON a.project_id = p.id
      WHERE p.signature_schemes <> 'hmac' AND NOT a.frozen AND NOT p.test`,
  );
  const { md5 = 0, limited = 0 } = row ?? {};
  if (md5 === limited) {
    return [
      ok('signatures', md5 === 0 ? 'Every project takes HMAC alone.' : 'Every project that takes MD5 is limited.'),
    ];
  }
  const open = md5 - limited;
  const says =
    `${open === 1 ? '1 project takes MD5 and lacks' : `${open.toString()} projects take MD5 and lack`} a limit: it covers neither path nor method nor time, so ` +
    'whoever captures a quote can buy with it, and read for ever.';
  const todo =
    '`project options MERCHANT --signatures hmac`, or until its callers sign so: --require-quote on, --allow-source, --daily-cap.';
  return [warning('signatures', says, todo)];
}

/** Checks that a worker does the due work. */
export async function lookAtWork(database: Database): Promise<DoctorFinding[]> {
  const [row] = await database.query<{
    overdue_sec: number;
    due: number;
    attention: number;
    unsynced_sec: number | null;
  }>(
    `SELECT coalesce(extract(epoch FROM clock_timestamp() - min(next_run_at)), 0)::integer AS overdue_sec,
            (count(*) FILTER (WHERE next_run_at <= clock_timestamp()))::integer AS due,
            (SELECT count(*)::integer FROM orders WHERE needs_attention AND NOT test) AS attention,
            (SELECT extract(epoch FROM clock_timestamp() - min(coalesce(read_at, created_at)))::integer
               FROM pool_wallet) AS unsynced_sec
       FROM orders WHERE next_run_at IS NOT NULL`,
  );
  const findings: DoctorFinding[] = [];
  const overdueSec = row?.overdue_sec ?? 0;
  const todo = 'Start a worker (`npm run start:worker`), or look at its log.';
  if (overdueSec > OVERDUE_SEC) {
    const says = `${(row?.due ?? 0).toString()} orders are due, the oldest for ${durationText(overdueSec)}.`;
    findings.push(fault('worker', says, todo));
  } else if ((row?.unsynced_sec ?? 0) > OVERDUE_SEC) {
    const says = `No worker has read the pool for ${durationText(row?.unsynced_sec ?? 0)}.`;
    findings.push(fault('worker', says, todo));
  } else findings.push(ok('worker', 'Nothing is overdue.'));
  const attention = row?.attention ?? 0;
  if (attention > 0) {
    const says = `${attention.toString()} orders need attention.`;
    findings.push(warning('orders', says, '`orders list --attention`, then `orders explain`.'));
  }
  return findings;
}

/** Checks that the signer, if used, holds the keys of the pool. */
export async function lookAtSigner({ secrets }: Config, wallets: readonly WalletView[]): Promise<DoctorFinding[]> {
  const elsewhere = wallets.filter((wallet) => wallet.key_held_by === 'signer');
  if (secrets.signerSocket === undefined) {
    if (elsewhere.length === 0) return [];
    const says = `The keys of ${elsewhere.map((wallet) => wallet.address).join(', ')} are with a signer, and none is named.`;
    return [fault('signer', says, 'Set SIGNER_SOCKET, or `pool set-key` with a key file.')];
  }
  const signer = new SocketSigner(secrets.signerSocket);
  try {
    const held = new Map((await signer.wallets()).map((wallet) => [wallet.address, wallet]));
    const findings = wallets.flatMap((wallet) => {
      const here = held.get(wallet.address);
      const matches = here?.key_address === wallet.key_address && here.permission_id === wallet.permission_id;
      if (matches && here.role === wallet.role) return [];
      const says = `The signer ${here === undefined ? 'does not hold' : 'holds another key, permission or role for'} ${wallet.address}.`;
      return [fault('signer', says, 'Correct its SIGNER_WALLETS_FILE and restart it, or `pool set-key`.')];
    });
    return findings.length > 0
      ? findings
      : [ok('signer', `It holds the keys of all ${wallets.length.toString()} wallets.`)];
  } catch (error) {
    const todo =
      'Start it (`node dist/bundle/main.signer.js`) under the same SIGNER_SOCKET; until then nothing is delivered.';
    return [fault('signer', `${messageOf(error)}.`, todo)];
  } finally {
    signer.close();
  }
}
