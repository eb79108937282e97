/** The doctor's check that transfers of the reference token can be measured. Reads only. */
import { ChainUnavailableError } from '../../platform/chain/errors.js';
import { NotRunError } from '../../platform/chain/token-reads.js';
import type { TronClient } from '../../platform/chain/tron.client.js';
import type { Config } from '../../platform/config/config.js';
import type { WalletView } from '../pool/pool-wallets.js';
import { OBSTACLE_TEXTS, type SizingObstacle } from '../quotes/sizing-obstacles.js';
import { SizingProbe, obstacleOf } from '../quotes/sizing-probe.js';
import type { Database } from '../../platform/database/database.js';
import { ok, warning, type DoctorFinding } from './doctor-finding.js';

const CHECK = 'sizing';
const LAST_HOLDER = `SELECT value->>'holder' AS holder FROM market_state WHERE name = 'sizing'`;

/** Measures once, as the API does every few minutes, and reports the obstacle if that fails. */
export async function checkSizing(
  tron: TronClient,
  { chain, market }: Config,
  wallets: readonly WalletView[],
  database: Database,
): Promise<DoctorFinding[]> {
  const probe = new SizingProbe(tron, chain.tokenContract, market.sizingHolders);
  try {
    const [last] = await database.query<{ holder: string | null }>(LAST_HOLDER);
    const measured = await probe.measure([last?.holder ?? '', ...wallets.map(({ address }) => address)]);
    if (typeof measured === 'string') return [obstructed(measured)];
    const [warm, cold] = [measured.warmEnergy.toString(), measured.coldEnergy.toString()];
    return [ok(CHECK, `A token transfer needs ${warm} energy, or ${cold} to an address without the token.`)];
  } catch (error) {
    if (!(error instanceof ChainUnavailableError) && !(error instanceof NotRunError)) throw error;
    return [obstructed(obstacleOf(error))];
  }
}

function obstructed(obstacle: SizingObstacle): DoctorFinding {
  const { says, todo } = OBSTACLE_TEXTS[obstacle];
  return warning(CHECK, `The energy of token transfers cannot be measured: ${says}.`, todo);
}
