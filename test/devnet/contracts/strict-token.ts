// A token that reverts without a reason, as main-net USDT does, with its state in plain storage slots.
import { keccak256 } from '../../../packages/devnet/src/address.js';
import { assemble, deployable } from './assembler.js';
import { SUPPLY, TRANSFER_TOPIC } from './tokens.js';

/** The slots of its settings. A balance is stored in the slot of its address. */
const SLOTS = { paused: 1, deprecated: 2, upgradedAddress: 3, basisPointsRate: 4, maximumFee: 5 } as const;
const FEES_GO_TO = 7;
const BLACKLIST = 1n << 160n;

/** State at genesis. Addresses are 40 hex digits, without TRON's prefix. */
export interface StrictTokenState {
  readonly settings?: Partial<Readonly<Record<keyof typeof SLOTS, number | bigint>>>;
  readonly balances?: Readonly<Record<string, number>>;
  readonly blacklisted?: readonly string[];
  readonly allowances?: readonly { readonly owner: string; readonly spender: string; readonly amount: number }[];
}

const word = (value: number | bigint): string => value.toString(16).padStart(64, '0');
const addressOf = (hex: string): bigint => BigInt(`0x${hex}`);

/** Returns the storage of a genesis contract. */
export function strictTokenStorage(state: StrictTokenState): Record<string, string> {
  const { settings = {}, balances = {}, blacklisted = [], allowances = [] } = state;
  const names = Object.keys(settings) as (keyof typeof SLOTS)[];
  return Object.fromEntries([
    ...names.map((name) => [word(SLOTS[name]), word(settings[name] ?? 0)]),
    ...Object.entries(balances).map(([address, amount]) => [word(addressOf(address)), word(amount)]),
    ...blacklisted.map((address) => [word(BLACKLIST | addressOf(address)), word(1)]),
    ...allowances.map(({ owner, spender, amount }) => [
      word(BigInt.asUintN(256, addressOf(owner) << 96n) ^ addressOf(spender)),
      word(amount),
    ]),
  ]);
}

const at = (signature: string, label: string): string => {
  const hash = Buffer.from(keccak256(Buffer.from(signature, 'utf8'))).toString('hex');
  return `DUP1 0x${hash.slice(0, 8)} EQ @${label} JUMPI`;
};

/** Returns bytecode to deploy. The deployer (of a genesis contract: its origin) holds the whole supply. */
export function strictTokenCode(): string {
  const getters = Object.entries(SLOTS);
  const runtime = assemble(`
    0 CALLDATALOAD 224 SHR
    ${at('transfer(address,uint256)', 'transfer')}
    ${at('transferFrom(address,address,uint256)', 'transferfrom')}
    ${at('approve(address,uint256)', 'approve')}
    ${at('balanceOf(address)', 'balance')}
    ${at('allowance(address,address)', 'allowance')}
    ${at('isBlackListed(address)', 'blacklisted')}
    ${getters.map(([name]) => at(`${name}()`, `get${name}`)).join('\n')}
    fail: 0 0 REVERT
    ${getters.map(([name, slot]) => `get${name}: ${String(slot)} SLOAD @answer JUMP`).join('\n')}
    answer: 0 MSTORE 32 0 RETURN
    balance: 2 SLOAD @fail JUMPI 4 CALLDATALOAD SLOAD @answer JUMP
    allowance: 2 SLOAD @fail JUMPI 36 CALLDATALOAD 4 CALLDATALOAD 96 SHL XOR SLOAD @answer JUMP
    blacklisted: 4 CALLDATALOAD 0x${BLACKLIST.toString(16)} OR SLOAD @answer JUMP
    approve:
      1 SLOAD @fail JUMPI
      36 CALLDATALOAD ISZERO @store JUMPI
      4 CALLDATALOAD CALLER 96 SHL XOR SLOAD @fail JUMPI   ; no allowance replaces another
    store: 36 CALLDATALOAD 4 CALLDATALOAD CALLER 96 SHL XOR SSTORE 1 @answer JUMP
    transfer:                                 ; memory: from, to, amount
      CALLER 0 MSTORE 4 CALLDATALOAD 32 MSTORE 36 CALLDATALOAD 64 MSTORE @move JUMP
    transferfrom:
      4 CALLDATALOAD 0 MSTORE 36 CALLDATALOAD 32 MSTORE 68 CALLDATALOAD 64 MSTORE
      68 CALLDATALOAD CALLER 4 CALLDATALOAD 96 SHL XOR SLOAD LT @fail JUMPI
    move:
      1 SLOAD @fail JUMPI
      0 MLOAD 0x${BLACKLIST.toString(16)} OR SLOAD @fail JUMPI
      2 SLOAD @fail JUMPI
      32 MLOAD ISZERO @fail JUMPI
      64 MLOAD 0 MLOAD SLOAD LT @fail JUMPI
      64 MLOAD 0 MLOAD SLOAD SUB 0 MLOAD SSTORE
      10000 4 SLOAD 64 MLOAD MUL DIV 96 MSTORE             ; the fee
      96 MLOAD 64 MLOAD SUB 128 MSTORE                     ; what arrives
      32 MLOAD SLOAD 128 MLOAD ADD 32 MLOAD SSTORE
      32 MLOAD 0 MLOAD 0x${TRANSFER_TOPIC} 32 128 LOG3
      96 MLOAD ISZERO @done JUMPI
      ${String(FEES_GO_TO)} SLOAD 96 MLOAD ADD ${String(FEES_GO_TO)} SSTORE
      ${String(FEES_GO_TO)} 0 MLOAD 0x${TRANSFER_TOPIC} 32 96 LOG3
    done: 0 @answer JUMP`);
  return deployable(runtime, `${String(SUPPLY)} CALLER SSTORE`);
}
