/** The TRX that TRON burns for a permission update, and the part of it that the wallet lacks. Pure. */
import type { PermissionFees } from '../../platform/chain/permission-fees.js';
import type { ChainAccount } from '../../platform/chain/tron.client.js';
import { trxText } from '../../domain/text.js';

export interface UpdateCost {
  /** Burnt for the update itself. */
  readonly updateSun: bigint;
  /** Burnt because the owner permission needs several signatures; 0 if one is enough. */
  readonly multiSignSun: bigint;
  readonly signatures: number;
  readonly balanceSun: bigint;
  /** TRX that the wallet lacks for both fees. Bandwidth is not included. */
  readonly missingSun: bigint;
}

/** Returns the cost of an update that the owner of `account` signs. */
export function costOfUpdate(account: ChainAccount, fees: PermissionFees): UpdateCost {
  const signatures = signaturesOfOwner(account);
  // TRON (Manager.consumeMultiSignFee): charged for the second signature, whatever the number of keys.
  const multiSignSun = signatures > 1 ? fees.multiSignSun : 0n;
  const totalSun = fees.updateSun + multiSignSun;
  const { balanceSun } = account;
  const missingSun = totalSun > balanceSun ? totalSun - balanceSun : 0n;
  return { updateSun: fees.updateSun, multiSignSun, signatures, balanceSun, missingSun };
}

/** Returns the smallest number of keys whose weights reach the threshold of the owner permission. */
function signaturesOfOwner({ permissions }: ChainAccount): number {
  const owner = permissions.find(({ id }) => id === 0);
  // TRON: an account that never set its permissions is signed for by its own key.
  if (owner === undefined) return 1;
  const weights = owner.keys.map(({ weight }) => weight).sort((one, other) => (one < other ? 1 : -1));
  let reached = 0n;
  const last = weights.findIndex((weight) => (reached += weight) >= owner.threshold);
  return last < 0 ? weights.length : last + 1;
}

/** Describes the fees of an update in one sentence. */
export function costText({ updateSun, multiSignSun, signatures }: UpdateCost): string {
  const severally =
    multiSignSun === 0n ? '' : `, and ${trxText(multiSignSun)} for its ${signatures.toString()} signatures`;
  return `TRON burns ${trxText(updateSun)} for it${severally}, beside bandwidth.`;
}

/** Describes what the wallet lacks for the fees; undefined if it can pay them. */
export function shortageText(address: string, { updateSun, multiSignSun, balanceSun, missingSun }: UpdateCost) {
  if (missingSun === 0n) return undefined;
  return (
    `${address} holds ${trxText(balanceSun)} and cannot pay the fee of ${trxText(updateSun + multiSignSun)}. ` +
    `Send it at least ${trxText(missingSun)} before you send the update.`
  );
}
