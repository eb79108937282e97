// Compares the ledger with the chain at deposit addresses that are not swept, for programmes that kill processes or use
// lying nodes. It compares the balances on chain with the amounts of the rows.
import { pbkdf2Sync } from 'node:crypto';
import { HDKey } from '@scure/bip32';
import { addressToHex } from '../../../src/platform/chain/address.js';
import type { Wallet } from '../../../packages/local/src/chain-account.js';
import type { ReadRows } from '../webhooks/webhook-judge.js';

export const XPUB = HDKey.fromMasterSeed(
  pbkdf2Sync('deposits on a local chain', 'mnemonic', 2048, 64, 'sha512'),
).derive("m/44'/195'/0'").publicExtendedKey;

/** Chain time runs ahead of ours here, so rates cover every minute for ten days ahead. */
export const FAR_RATES = `INSERT INTO asset_rate (asset, minute, rate_e8)
  SELECT v.asset, minute, v.rate_e8 FROM (VALUES ('TRX', 30000000), ('USDT', 100000000)) v(asset, rate_e8),
    generate_series(date_trunc('minute', clock_timestamp()) - interval '1 day', clock_timestamp() + interval '10 days', interval '1 minute') minute
  ON CONFLICT DO NOTHING`;

/** The same rates around $1, a time of the chain: a day before it, and two days after it. */
export const RATES_AROUND = `INSERT INTO asset_rate (asset, minute, rate_e8)
  SELECT v.asset, minute, v.rate_e8 FROM (VALUES ('TRX', 30000000), ('USDT', 100000000)) v(asset, rate_e8),
    generate_series(date_trunc('minute', $1::timestamptz) - interval '1 day', $1::timestamptz + interval '2 days', interval '1 minute') minute
  ON CONFLICT DO NOTHING`;

export interface DepositPlace {
  readonly project_id: string;
  readonly address: string;
}

/** Returns the token balance of an address at the head. */
export async function tokenBalance(wallet: Wallet, token: string, address: string): Promise<bigint> {
  const answer = await wallet.post('wallet/triggerconstantcontract', {
    owner_address: address,
    contract_address: token,
    function_selector: 'balanceOf(address)',
    parameter: addressToHex(address).slice(2).padStart(64, '0'),
    visible: true,
  });
  return BigInt(`0x${String((answer['constant_result'] as string[])[0])}`);
}

/** Returns the addresses whose recorded deposits differ from the chain's balance, or whose deposits are undecided. */
export async function unlikeChain({
  wallet,
  token,
  places,
  read,
}: {
  readonly wallet: Wallet;
  readonly token: string;
  readonly places: readonly DepositPlace[];
  readonly read: ReadRows;
}): Promise<string[]> {
  const found: string[] = [];
  for (const { address, project_id: projectId } of places) {
    const account = await wallet.post('wallet/getaccount', { address, visible: true });
    const onChain = {
      TRX: BigInt(Number(account['balance'] ?? 0)),
      USDT: await tokenBalance(wallet, token, address),
    };
    const rows = await read<{ asset: 'TRX' | 'USDT'; amount: string; undecided: number }>(
      `SELECT asset, sum(amount)::text AS amount,
          (count(*) FILTER (WHERE status = 'held' OR reason IN ('no_rate', 'not_solid')))::integer AS undecided,
          string_agg(DISTINCT coalesce(reason, status), ', ') FILTER (WHERE status <> 'credited') AS why,
          max(block_at) FILTER (WHERE status <> 'credited') AS newest,
          (SELECT max(minute) FROM asset_rate r WHERE r.asset = deposit.asset) AS rated_to
         FROM deposit WHERE address = $1 AND status <> 'dropped' GROUP BY asset`,
      [address],
    );
    for (const asset of ['TRX', 'USDT'] as const) {
      const row = rows.find((each) => each.asset === asset);
      if (BigInt(row?.amount ?? 0) === onChain[asset] && (row?.undecided ?? 0) === 0) continue;
      found.push(
        `${projectId}: ${onChain[asset].toString()} ${asset} on chain, ${JSON.stringify(row ?? 'nothing')} taken in`,
      );
    }
  }
  return found;
}

/** Selects balances that differ from the sum of their entries, and entries that differ from their deposits' worth. */
export const WRONG_IN_LEDGER = `
  SELECT a.project_id, a.balance_credits::text AS found, coalesce(sum(e.credits), 0)::text AS wanted
    FROM credit_account a LEFT JOIN credit_entry e ON e.project_id = a.project_id
   GROUP BY a.project_id HAVING a.balance_credits <> coalesce(sum(e.credits), 0)
  UNION ALL
  SELECT d.project_id, max(e.credits)::text, div(sum(d.amount * d.rate_e8) * 10000000, 100000000000000)::text
    FROM deposit d LEFT JOIN credit_entry e ON e.entry_key = d.entry_key
   WHERE d.status = 'credited' GROUP BY d.project_id, d.entry_key
  HAVING max(e.credits) IS DISTINCT FROM div(sum(d.amount * d.rate_e8) * 10000000, 100000000000000)::bigint
  UNION ALL
  SELECT e.project_id, e.entry_key, 'no deposit' FROM credit_entry e
   WHERE e.entry_key LIKE 'deposit:%' AND NOT EXISTS (SELECT FROM deposit d WHERE d.entry_key = e.entry_key)`;
