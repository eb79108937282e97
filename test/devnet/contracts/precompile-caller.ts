// Calls precompiled contracts of a devnet and measures their energy.
import { type Client, keyOf } from '../client.js';
import { assemble } from './assembler.js';

export interface Result {
  readonly succeeded: boolean;
  readonly energy: number;
  readonly output: string;
}

/** The answer of an address without code. */
export const NOTHING: Result = { succeeded: true, energy: 0, output: '' };
/** Energy that each call brings. */
export const LIMIT = 200_000;
/** A call uses this much for its own opcodes: STATICCALL and the five values after GAS. */
const OWN_ENERGY = 40 + 6 * 3 + 2;

/** Calls `address` with `input` (hex) from a constant creation, and measures the energy of the call. */
export async function callPrecompiled(chain: Client, address: number | bigint, input: string): Promise<Result> {
  const program = (codeSize: number): string =>
    assemble(
      `${String(input.length / 2)} ${String(codeSize)} 0 CODECOPY ` +
        `GAS 0 0 ${String(input.length / 2)} 0 ${String(address)} ${String(LIMIT)} STATICCALL GAS ` +
        // Memory: the energy before less that after, whether it succeeded, the output.
        'SWAP1 32 MSTORE SWAP1 SUB 0 MSTORE RETURNDATASIZE 0 64 RETURNDATACOPY RETURNDATASIZE 64 ADD 0 RETURN',
    );
  // The position of the input is the code's length, which depends on the width of the number itself.
  const size = program(program(255).length / 2).length / 2;
  const answer = await chain.post('triggerconstantcontract', {
    owner_address: keyOf('bank').address,
    data: program(size) + input,
  });
  const output = (answer['constant_result'] as readonly string[] | undefined)?.[0];
  if (output === undefined) throw new Error(JSON.stringify(answer['result']));
  return {
    energy: Number.parseInt(output.slice(0, 64), 16) - OWN_ENERGY,
    succeeded: Number.parseInt(output.slice(64, 128), 16) === 1,
    output: output.slice(128),
  };
}
