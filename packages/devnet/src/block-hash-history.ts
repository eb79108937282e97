// The contract that keeps the hashes of the last 8 191 blocks. TRON: HistoryBlockHashUtil, TIP-2935.
import { accountAt, becomingContract, newAccount, putAccount } from './accounts.js';
import { keccak256 } from './address.js';
import { codeAt, contractAt, putCode, putContract, slotKey } from './contract-store.js';
import { parameter } from './parameters.js';
import type { State } from './state.js';

const ADDRESS = '410000f90827f1c53a10cb7a02335b175320002935';
/** The account that deployed it on Ethereum. */
const DEPLOYER = '413462413af4609098e1e27a490f554f260213d685';
const NAME = 'BlockHashHistory';
const WINDOW = 8_191;
const INSTALLED_KEY = 'p:blockHashHistory';
const SWITCH = 'getAllowTvmPrague';

/** The program of TIP-2935, assembled. */
const CODE =
  '3373fffffffffffffffffffffffffffffffffffffffe14604657602036036042575f35600143038111604257611fff81430311604257' +
  '611fff9006545f5260205ff35b5f5ffd5b5f35611fff60014303065500';

/** Deploys the contract once the switch is on. Code that is there already stays, without hashes. */
export function installBlockHashHistory(state: State): void {
  if (parameter(state, SWITCH) !== 1n || state.get(INSTALLED_KEY) === true) return;
  if (codeAt(state, ADDRESS) !== undefined || contractAt(state, ADDRESS) !== undefined) return;
  const code = Buffer.from(CODE, 'hex');
  putCode(state, ADDRESS, code);
  putContract(state, {
    address: ADDRESS,
    origin: DEPLOYER,
    name: NAME,
    abi: {},
    bytecode: '',
    userPercent: 100n,
    originEnergyLimit: 0n,
    codeHash: Buffer.from(keccak256(code)).toString('hex'),
    trxHash: '',
    version: 0,
  });
  const account = accountAt(state, ADDRESS);
  const made =
    account === undefined ? { ...newAccount(ADDRESS, 'contract', 0n), name: NAME } : becomingContract(account);
  putAccount(state, made);
  state.put(INSTALLED_KEY, true);
}

/** Stores the parent's id before the transactions of block `number`. */
export function recordBlockHash(state: State, number: number, parentId: string): void {
  if (state.get(INSTALLED_KEY) !== true) return;
  const slot = ((number - 1) % WINDOW).toString(16).padStart(64, '0');
  state.put(slotKey(ADDRESS, slot), parentId.replace(/^(00)+/, ''));
}
