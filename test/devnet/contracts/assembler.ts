// Assembles the small contracts of the tests. White space separates words, and `;` begins a comment. A number becomes
// the shortest PUSH, `name:` a JUMPDEST, `@name` a PUSH2 of that position. Any other word is an opcode's name.

const BASE: Readonly<Record<string, string>> = {
  '00': 'STOP ADD MUL SUB DIV',
  '10': 'LT GT SLT SGT EQ ISZERO AND OR XOR NOT BYTE SHL SHR SAR CLZ',
  '20': 'SHA3',
  '30': 'ADDRESS BALANCE ORIGIN CALLER CALLVALUE CALLDATALOAD CALLDATASIZE CALLDATACOPY CODESIZE CODECOPY',
  '3a': 'GASPRICE EXTCODESIZE EXTCODECOPY RETURNDATASIZE RETURNDATACOPY EXTCODEHASH',
  '40': 'BLOCKHASH COINBASE TIMESTAMP NUMBER DIFFICULTY GASLIMIT CHAINID SELFBALANCE BASEFEE BLOBHASH BLOBBASEFEE',
  '50': 'POP MLOAD MSTORE MSTORE8 SLOAD SSTORE JUMP JUMPI PC MSIZE GAS JUMPDEST TLOAD TSTORE MCOPY PUSH0',
  a0: 'LOG0 LOG1 LOG2 LOG3 LOG4',
  d0: 'CALLTOKEN TOKENBALANCE CALLTOKENVALUE CALLTOKENID ISCONTRACT',
  d8: 'VOTEWITNESS WITHDRAWREWARD',
  da: 'FREEZEBALANCEV2 UNFREEZEBALANCEV2 CANCELALLUNFREEZEV2 WITHDRAWEXPIREUNFREEZE DELEGATERESOURCE UNDELEGATERESOURCE',
  f0: 'CREATE CALL CALLCODE RETURN DELEGATECALL CREATE2',
  fa: 'STATICCALL',
  fd: 'REVERT INVALID SELFDESTRUCT',
};

function opcodes(): Map<string, string> {
  const known = new Map<string, string>();
  const define = (name: string, code: number): void => void known.set(name, code.toString(16).padStart(2, '0'));
  for (const [first, names] of Object.entries(BASE))
    names.split(' ').forEach((name, i) => {
      define(name, Number.parseInt(first, 16) + i);
    });
  for (let n = 1; n <= 16; n += 1) {
    define(`DUP${String(n)}`, 0x7f + n);
    define(`SWAP${String(n)}`, 0x8f + n);
  }
  return known;
}

const OPCODES = opcodes();
const LABEL = /^([a-z]\w*):$/;
const REFERENCE = /^@([a-z]\w*)$/;
const NUMBER = /^(0x[0-9a-f]+|\d+)$/;

function push(value: bigint): string {
  const digits = value.toString(16);
  const bytes = digits.length % 2 === 0 ? digits : `0${digits}`;
  return (0x5f + bytes.length / 2).toString(16) + bytes;
}

/** Returns the bytecode of `source` in hex. */
export function assemble(source: string): string {
  const words = source
    .replace(/;.*$/gm, '')
    .split(/\s+/)
    .filter((word) => word !== '');
  const labels = new Map<string, number>();
  const parts: (string | { readonly label: string })[] = [];
  let at = 0;
  for (const word of words) {
    const [label, reference] = [LABEL.exec(word)?.[1], REFERENCE.exec(word)?.[1]];
    if (reference !== undefined) {
      parts.push({ label: reference });
      at += 3;
      continue;
    }
    if (label !== undefined) labels.set(label, at);
    const code = label !== undefined ? '5b' : NUMBER.test(word) ? push(BigInt(word)) : OPCODES.get(word);
    if (code === undefined) throw new Error(`no opcode ${word}`);
    parts.push(code);
    at += code.length / 2;
  }
  return parts
    .map((part) => {
      if (typeof part === 'string') return part;
      const target = labels.get(part.label);
      if (target === undefined) throw new Error(`no label ${part.label}`);
      return `61${target.toString(16).padStart(4, '0')}`;
    })
    .join('');
}

/** Returns bytecode to deploy that runs `before` and leaves `runtime` as the contract's code. */
export function deployable(runtime: string, before = ''): string {
  const length = String(runtime.length / 2);
  return assemble(`${before} ${length} DUP1 @code 1 ADD 0 CODECOPY 0 RETURN code:`) + runtime;
}
