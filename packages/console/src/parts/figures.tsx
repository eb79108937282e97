/** Amounts, times and addresses in the format of every page. */
import { Fragment } from 'react';
import { creditsText, usd, usdExact, type Whole } from '../format/money.js';
import { inGroups } from '../format/address.js';
import { isDayOfUtc, isInUtc, isSameDay, localClock, localDay, utcClock, utcDay, zoneAt } from '../format/time.js';
import { COMMON } from '../text/common.js';
import { CopyButton } from './copy.js';
import { useTimeChoice } from './time-choice.js';

interface AmountProps {
  readonly credits: Whole;
  /** Shows whole cents, as for a balance; otherwise all decimals, as for a price. */
  readonly isBalance?: boolean;
  readonly isSigned?: boolean;
  readonly withoutCredits?: boolean;
}

/** Shows dollars first, credits second. */
export function Amount({ credits, isBalance = false, isSigned = false, withoutCredits = false }: AmountProps) {
  const plus = isSigned && BigInt(credits) > 0n ? '+' : '';
  return (
    <span className="amount">
      <span className="amount-usd">{plus + (isBalance ? usd(credits) : usdExact(credits))}</span>{' '}
      {!withoutCredits && <span className="amount-credits">{plus + creditsText(credits)}</span>}
    </span>
  );
}

interface MomentProps {
  readonly at: string;
  /** Names the clock of the time where chain times and our times appear together. */
  readonly clock?: 'chain' | 'ours';
}

/**
 * Shows the local time, then UTC, then the name of the chain's clock. The user may choose one of the two times. Lines
 * break only between these parts.
 */
export function Moment({ at, clock }: MomentProps) {
  const moment = new Date(at);
  const isOnlyUtc = isInUtc(moment);
  const choice = useTimeChoice();
  const isLocal = choice !== 'utc' || isOnlyUtc;
  const isUtc = choice !== 'local' && !isOnlyUtc;
  return (
    <time dateTime={at} className="moment">
      {isLocal && (
        <>
          {!isSameDay(moment, new Date()) && <span>{localDay(moment)},</span>}{' '}
          <span>
            {localClock(moment)} {isOnlyUtc ? 'UTC' : zoneAt(moment)}
          </span>{' '}
        </>
      )}
      {isUtc &&
        utcParts(moment, isLocal).map((part) => (
          <Fragment key={part}>
            <span {...(isLocal && { className: 'dim' })}>{part}</span>{' '}
          </Fragment>
        ))}
      {clock !== undefined && (
        <span className="dim">{`(${clock === 'chain' ? COMMON.chainClock : COMMON.ourClock})`}</span>
      )}
    </time>
  );
}

/** Leaves out the date where the local time beside it has the same one, and alone if it is today's. */
function utcParts(moment: Date, isBesideLocal: boolean): readonly string[] {
  const isClear = isBesideLocal ? isDayOfUtc(moment) : utcDay(moment) === utcDay(new Date());
  return [...(isClear ? [] : [utcDay(moment)]), utcClock(moment)];
}

interface GroupsProps {
  readonly text: string;
  readonly name: string;
  readonly size?: number;
  readonly withoutCopy?: boolean;
  /** Keeps an address on one line, in smaller type where the line is short. */
  readonly isOneLine?: boolean;
}

/** Shows a text in full, in groups of four. Copying it yields no gaps. */
export function Groups({ text, name, size = 4, withoutCopy = false, isOneLine = false }: GroupsProps) {
  return (
    <span className={isOneLine ? 'groups groups-line' : 'groups'}>
      <span className="groups-text">
        {inGroups(text, size).map((group, index) => (
          <span key={index}>{group}</span>
        ))}
      </span>
      {!withoutCopy && <CopyButton text={text} name={name} />}
    </span>
  );
}
