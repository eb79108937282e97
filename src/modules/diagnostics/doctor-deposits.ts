/** The doctor's checks of deposits: the key, internal transactions at the nodes, and the reader of blocks. */
import { PEG_QUORUM_MIN, PEG_SOURCE_NAMES, pegSources } from '../billing/rate-sources.js';
import type { Config } from '../../platform/config/config.js';
import { messageOf } from '../../domain/errors.js';
import { executedBlockOf } from '../../platform/chain/executed-block.js';
import type { TronNode } from '../../platform/chain/node.js';
import { solidHeadOf, type TronClient } from '../../platform/chain/tron.client.js';
import { durationText } from '../../domain/text.js';
import type { Database } from '../../platform/database/database.js';
import { fault, ok, warning, type DoctorFinding } from './doctor-finding.js';

/** On the main network nearly every block has an internal transaction: this many without one are no coincidence. */
const BLOCKS_PROBED = 20;
const BEHIND_SEC = 120;

/** Verifies that the configured key derives the assigned addresses. */
interface DerivedAddresses {
  readonly listMismatched: () => Promise<readonly unknown[]>;
}

interface CursorLook {
  readonly behind_sec: number;
  readonly held: number;
}

const LOOK = `SELECT extract(epoch FROM clock_timestamp() - coalesce(read_at, block_at))::float8 AS behind_sec,
    (SELECT count(*)::integer FROM deposit WHERE status = 'held') AS held FROM deposit_cursor
   WHERE EXISTS (SELECT FROM deposit_account)`;

/** The token of deposits, by the records and by the settings. */
interface TokenSettings {
  readonly recorded: string | undefined;
  readonly configured: string;
}

/** Checks deposits. Returns no findings if they are not in use. */
export async function checkDeposits(
  database: Database,
  addresses: DerivedAddresses,
  token: TokenSettings,
  { tron: { pool }, rates }: { readonly tron: TronClient; readonly rates: Config['rates'] },
): Promise<DoctorFinding[]> {
  const [cursor] = await database.query<CursorLook>(LOOK);
  if (cursor === undefined) return [];
  const probes = await Promise.all(pool.agreement.witnesses.map(checkInternal));
  return [
    await checkKey(addresses),
    ...checkSetting(token),
    ...checkDollarRate(rates.sources),
    ...checkReader(cursor),
    ...(await checkBlacklist(database)),
    ...probes,
  ];
}

async function checkKey(addresses: DerivedAddresses): Promise<DoctorFinding> {
  try {
    const wrong = await addresses.listMismatched();
    if (wrong.length === 0) return ok('deposit key', 'It derives every assigned address.');
    const says = `It does not derive ${wrong.length.toString()} of the assigned addresses.`;
    return fault(
      'deposit key',
      says,
      'Make sure that nothing is paid to them; `deposits addresses --check` lists them. Set DEPOSIT_XPUB to the original key of the account.',
    );
  } catch (error) {
    const todo = 'Set DEPOSIT_XPUB to the key of the account. Until then, the API returns no deposit addresses.';
    return fault('deposit key', `The comparison failed: ${messageOf(error)}`, todo);
  }
}

function checkSetting({ recorded, configured }: TokenSettings): DoctorFinding[] {
  if (recorded === undefined || recorded === configured) return [];
  return [
    fault(
      'deposit token',
      `TOKEN_CONTRACT is ${configured}, but deposits use ${recorded}.`,
      `Set TOKEN_CONTRACT=${recorded}: workers refuse to start without it. To change the token of deposits, run \`deposits accept-successor\`.`,
    ),
  ];
}

/** Binance, Bybit, KuCoin and Gate trade against USDT alone, so they have no price of USDT in dollars. */
export function checkDollarRate(names: readonly string[]): DoctorFinding[] {
  if (names.includes('static')) return [];
  const found = pegSources(names).map(({ name }) => name);
  const known = PEG_SOURCE_NAMES.join(', ');
  if (found.length < PEG_QUORUM_MIN) {
    const which = found.length === 0 ? 'None' : `Only one (${found.join()})`;
    return [
      fault(
        'USDT rate',
        `${which} of the exchanges in RATE_SOURCES trades USDT against dollars. USDT gets no rate, so its deposits stay pending.`,
        `Name at least ${PEG_QUORUM_MIN.toString()} of ${known} in RATE_SOURCES, and restart the workers.`,
      ),
    ];
  }
  return [ok('USDT rate', `${found.join(', ')} quote it.`)];
}

const BLACKLISTED = `SELECT address, use FROM blacklisted_address ORDER BY use, address LIMIT 20`;
const WITHOUT_USE: Readonly<Record<string, string>> = {
  deposit: 'Its deposits are held, because they cannot be swept. See `deposits list --status held`.',
  sweep: 'Tokens that are swept to it cannot be moved. Sweep to another address.',
  receiver: 'A project rents energy for it, but it cannot send tokens. Warn the project.',
};

/** Reports the blacklist as a worker last read it. */
async function checkBlacklist(database: Database): Promise<DoctorFinding[]> {
  const rows = await database.query<{ address: string; use: string }>(BLACKLISTED);
  return rows.map(({ address, use }) =>
    warning('blacklist', `The token has blacklisted ${address} (${use}), so it cannot send.`, WITHOUT_USE[use] ?? ''),
  );
}

function checkReader({ behind_sec: seconds, held }: CursorLook): DoctorFinding[] {
  const findings: DoctorFinding[] = [];
  if (seconds > BEHIND_SEC) {
    const says = `No block has been read for ${durationText(Math.round(seconds))}.`;
    findings.push(
      fault('deposits', says, 'Start a worker, or check its log: both nodes must report the same payments.'),
    );
  } else findings.push(ok('deposits', 'Blocks are being read.'));
  if (held > 0) {
    const says = `${held.toString()} deposits are held.`;
    findings.push(warning('deposits', says, 'Review `deposits list --status held`, then run `deposits resolve`.'));
  }
  return findings;
}

/**
 * Looks for an internal transaction in the node's newest solid blocks. A node does not report its setting
 * vm.saveInternalTx.
 */
export async function checkInternal(node: TronNode): Promise<DoctorFinding> {
  const check = `internal ${node.name}`;
  try {
    const head = await solidHeadOf(node);
    for (let back = 0; back < Math.min(BLOCKS_PROBED, head.number); back += 1) {
      if ((await executedBlockOf(node, head.number - back)).hasInternal)
        return ok(check, 'It keeps internal transactions.');
    }
    const says = `None of its newest ${BLOCKS_PROBED.toString()} blocks has an internal transaction.`;
    const todo =
      'On the main network, set vm.saveInternalTx = true. Otherwise only `deposits audit` detects TRX sent by contracts.';
    return warning(check, says, todo);
  } catch (error) {
    return warning(check, `The check failed: ${messageOf(error)}.`, 'Fix the nodes first.');
  }
}
