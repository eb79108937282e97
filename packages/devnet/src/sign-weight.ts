// Endpoints about the signatures of a transaction that is not sent yet, which wallets with several keys use. TRON:
// TransactionUtil.getTransactionSignWeight, Wallet.getTransactionApprovedList.
import { type Permission, accountAt, permissionOf } from './accounts.js';
import type { Request } from './http.js';
import type { Json } from './json.js';
import type { NodeView } from './node-view.js';
import { printAddress, printPermission, sparse } from './reads.js';
import { SignatureFault, type Tx, allows, printTx, signerOf, txOfJson, weigh } from './transactions.js';

type Fields = Readonly<Record<string, Json | undefined>>;

/** Codes of a result by the kind of a signature's fault. The list of signers knows no permissions. */
const WEIGHT_CODES = {
  format: 'SIGNATURE_FORMAT_ERROR',
  recovery: 'COMPUTE_ADDRESS_ERROR',
  permission: 'PERMISSION_ERROR',
} as const;
const NO_CONTRACT: Fields = { code: 'OTHER_ERROR', message: 'Invalid transaction: no valid contract' };
const NO_ACCOUNT = 'Account does not exist!';

/** The code of a success is 0, which is left out. */
function answer(tx: Tx, visible: boolean, result: Fields, fields: Fields = {}): Json {
  const transaction = { result: { result: true }, txid: tx.id, transaction: printTx(tx, visible) };
  return { ...sparse(fields), result: sparse(result), transaction };
}

/** Returns the permission that a transaction names. Throws SignatureFault if it cannot be used. */
function permissionFor(view: NodeView, tx: Tx): Permission {
  const no = (message: string): SignatureFault => new SignatureFault('permission', message);
  const account = accountAt(view.read(false).state, tx.owner);
  if (account === undefined) throw no(NO_ACCOUNT);
  const permission = permissionOf(account, tx.permissionId);
  if (permission === undefined) throw no('Permission for this, does not exist!');
  if (tx.permissionId === 0) return permission;
  if (permission.type !== 2) throw no('Permission type is wrong!');
  if (!allows(permission, tx)) throw no('Permission denied!');
  return permission;
}

/** wallet/getsignweight: the permission, who has signed, and whether the weight suffices. */
export function printSignWeight(view: NodeView, { body, source, visible }: Request): Json {
  const tx = txOfJson(body, source, visible);
  if (tx.type === '') return answer(tx, visible, NO_CONTRACT);
  let permission: Permission | undefined;
  try {
    permission = permissionFor(view, tx);
    const { signers, weight } = weigh(permission, tx);
    return answer(
      tx,
      visible,
      { code: weight >= permission.threshold ? '' : 'NOT_ENOUGH_PERMISSION' },
      {
        permission: printPermission(permission, visible),
        approved_list: signers.map((signer) => printAddress(signer, visible)),
        current_weight: weight,
      },
    );
  } catch (error) {
    if (!(error instanceof SignatureFault)) throw error;
    const fields = permission === undefined ? {} : { permission: printPermission(permission, visible) };
    return answer(tx, visible, { code: WEIGHT_CODES[error.kind], message: error.message }, fields);
  }
}

/** wallet/getapprovedlist: who has signed, whatever the permission says. */
export function printApprovedList(view: NodeView, { body, source, visible }: Request): Json {
  const tx = txOfJson(body, source, visible);
  if (tx.type === '') return answer(tx, visible, NO_CONTRACT);
  if (accountAt(view.read(false).state, tx.owner) === undefined) {
    const message = `class org.tron.core.exception.PermissionException : ${NO_ACCOUNT}`;
    return answer(tx, visible, { code: 'OTHER_ERROR', message });
  }
  try {
    const signers = tx.signatures.map((signature) => signerOf(tx.id, signature));
    return answer(tx, visible, {}, { approved_list: signers.map((signer) => printAddress(signer, visible)) });
  } catch (error) {
    if (!(error instanceof SignatureFault)) throw error;
    return answer(tx, visible, { code: WEIGHT_CODES[error.kind], message: error.message });
  }
}
