/** The duration, from the price table, and how often the energy will be spent in it. */
import { TextInput } from '@mantine/core';
import { mostUses } from '../../../../../src/domain/price.js';
import { wholeTyped } from '../../../../../src/domain/typed-amount.js';
import { toJsonInteger } from '../../../../../src/domain/units.js';
import { grouped } from '../../format/money.js';
import { span } from '../../format/time.js';
import { PURCHASE } from '../../text/purchases.js';

export interface TypedTime {
  readonly seconds: number;
  readonly uses: string;
}

/** One hour, if it is on sale. */
const USUAL_SEC = 3600;

export function usualTime(durations: readonly number[]): TypedTime {
  return { seconds: durations.includes(USUAL_SEC) ? USUAL_SEC : (durations[0] ?? USUAL_SEC), uses: '1' };
}

interface TimeRequest {
  readonly duration_sec: number;
  readonly expected_uses?: number;
}

/** Returns the members of a request; undefined while the uses are wrong. */
export function timeOf({ seconds, uses }: TypedTime): TimeRequest | undefined {
  const most = mostUses(seconds);
  if (most === 1) return { duration_sec: seconds };
  const count = wholeTyped(uses).value;
  if (count === undefined || count < 1n || count > BigInt(most)) return undefined;
  return { duration_sec: seconds, ...(count > 1n && { expected_uses: toJsonInteger(count) }) };
}

interface TimeProps {
  readonly label: string;
  readonly durations: readonly number[];
  readonly typed: TypedTime;
  readonly onType: (typed: TypedTime) => void;
}

export function TimeFields({ label, durations, typed, onType }: TimeProps) {
  const most = mostUses(typed.seconds);
  return (
    <>
      <label className="filter-field">
        <span>{label}</span>
        <select
          value={typed.seconds.toString()}
          onChange={({ currentTarget }) =>
            onType({ ...typed, seconds: durations[currentTarget.selectedIndex] ?? typed.seconds })
          }
        >
          {durations.map((seconds) => (
            <option key={seconds} value={seconds.toString()}>
              {span(seconds)}
            </option>
          ))}
        </select>
      </label>
      {most > 1 && (
        <TextInput
          label={PURCHASE.uses}
          description={PURCHASE.usesHelp(grouped(most))}
          inputMode="numeric"
          autoComplete="off"
          value={typed.uses}
          error={timeOf(typed) === undefined && PURCHASE.usesBad(grouped(most))}
          onChange={(event) => onType({ ...typed, uses: event.currentTarget.value })}
        />
      )}
    </>
  );
}
