/** Sizes the refills of an address by simulating the transfer that they are for. */
import { Injectable } from '@nestjs/common';
import { ApiError } from '../../domain/errors.js';
import type { Energy } from '../../domain/units.js';
import { TransferSizing, type TokenTransfer } from '../quotes/transfer-sizing.js';

/** A transfer as the database keeps it. */
export interface StoredTransfer {
  readonly to: string;
  /** In the token's smallest unit, as text: it may exceed 2^53. */
  readonly amount: string;
  readonly token?: string | undefined;
}

export const storedTransfer = ({ to, amount, token }: TokenTransfer): StoredTransfer => ({
  to,
  amount: amount.toString(),
  token,
});

/** The levels of a refill. */
export interface RefillLevels {
  readonly keep_energy: Energy;
  readonly refill_below: Energy;
}

export interface Sized<T extends RefillLevels> {
  /** The row with its levels raised to what the transfer needs now, or needed last. */
  readonly row: T;
  /** Energy that the transfer needs now; undefined if not measured. */
  readonly transferEnergy: Energy | undefined;
  /** The code of the reason why no refill may be bought, because its transfer would fail. */
  readonly refusal: string | undefined;
}

interface SizedByTransfer extends RefillLevels {
  readonly address: string;
  readonly asleep: boolean;
  readonly transfer: StoredTransfer | null;
  readonly transfer_energy: Energy | null;
}

/** Returns the levels, raised to the energy that a transfer needs: it must be there before the transfer is sent. */
export function raised<T extends RefillLevels>(row: T, needed: Energy): T {
  const atLeast = (level: Energy): Energy => (level > needed ? level : needed);
  return { ...row, keep_energy: atLeast(row.keep_energy), refill_below: atLeast(row.refill_below) };
}

@Injectable()
export class RefillSize {
  constructor(private readonly transfers: TransferSizing) {}

  /** Sizes the refills of a claimed row. Throws ApiError CHAIN_UNAVAILABLE. */
  async of<T extends SizedByTransfer>(row: T): Promise<Sized<T>> {
    const { address, asleep, transfer, transfer_energy: last } = row;
    // A sleeping address buys nothing.
    const transferEnergy = transfer === null || asleep ? undefined : await this.measure(address, transfer);
    if (transferEnergy instanceof ApiError) {
      return { row: last === null ? row : raised(row, last), transferEnergy: undefined, refusal: transferEnergy.code };
    }
    const needed = transferEnergy ?? last;
    return { row: needed === null ? row : raised(row, needed), transferEnergy, refusal: undefined };
  }

  private async measure(address: string, { to, amount, token }: StoredTransfer): Promise<Energy | ApiError> {
    try {
      return await this.transfers.energyOf(address, { to, amount: BigInt(amount), token });
    } catch (error) {
      if (!(error instanceof ApiError) || error.code === 'CHAIN_UNAVAILABLE') throw error;
      // A token that is no contract any more is refused as a request would be.
      if (error.code === 'TRANSFER_WOULD_FAIL') return error;
      return new ApiError('TRANSFER_WOULD_FAIL', error.message, { cause: error });
    }
  }
}
