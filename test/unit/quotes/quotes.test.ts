import { randomBytes, randomUUID } from 'node:crypto';
import fc from 'fast-check';
import {
  burnPrice,
  creditsOf,
  decimal,
  parseRate,
  trxOf,
  usdMicros,
  usdOf,
  withMargin,
} from '../../../src/domain/conversion.js';
import { credits, energy, rateE8, sun } from '../../../src/domain/units.js';
import {
  bandwidthTable,
  isWorthRenting,
  leastWorthRenting,
  legsAffordable,
  longestDurationSec,
  rentalPrice,
  rowFor,
  slipsIn,
  warningFor,
} from '../../../src/domain/price.js';
import { priceFloor } from '../../../src/modules/pool/bandwidth.js';
import { newQuoteId, openQuote, sealQuote, type OpenQuote } from '../../../src/modules/quotes/quote-token.js';
import { callerPart, deployerPart } from '../../../src/domain/energy-share.js';
import { addressWord, energyFor, firstWord, recipientOf, showsTransfer, uintWord } from '../../../src/domain/sizing.js';
import { Sealer, sealKey } from '../../../src/platform/support/seal.js';

const ROWS = [
  { durationMaxSec: 3600, sunPerEnergy: 45n },
  { durationMaxSec: 600, sunPerEnergy: 38n },
  { durationMaxSec: 86_400, sunPerEnergy: 65n },
];

const master = randomBytes(32);
const project = randomUUID();

function someQuote(changes: Partial<OpenQuote> = {}): OpenQuote {
  return {
    id: randomUUID(),
    expiresAtMs: 1_795_000_000_123,
    receiveAddress: 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF',
    energy: energy(65_000),
    durationSec: 3600,
    priceSun: sun(2_925_000),
    credits: credits(8_775_000),
    rate: rateE8(30_000_000),
    ...changes,
  };
}

describe('the price table', () => {
  test.each([
    [1, 600],
    [600, 600],
    [601, 3600],
    [3600, 3600],
    [3601, 86_400],
    [86_400, 86_400],
  ])('%d s uses the shortest row that covers it (%d s), in any order of the rows', (duration, row) => {
    expect(rowFor(ROWS, duration)?.durationMaxSec).toBe(row);
    expect(rowFor([...ROWS].reverse(), duration)?.durationMaxSec).toBe(row);
  });

  test('sells nothing beyond the longest row', () => {
    expect(rowFor(ROWS, 86_401)).toBeUndefined();
    expect(longestDurationSec(ROWS)).toBe(86_400);
    expect(longestDurationSec([])).toBe(0);
  });

  test('a price is worthwhile only strictly below burning', () => {
    expect(isWorthRenting(sun(99), sun(100))).toBe(true);
    expect(isWorthRenting(sun(100), sun(100))).toBe(false);
    expect(isWorthRenting(sun(101), sun(100))).toBe(false);
  });

  test('warns the operator of a row that can never be sold', () => {
    expect(warningFor({ durationMaxSec: 600, sunPerEnergy: 99n }, 100n)).toBeUndefined();
    expect(warningFor({ durationMaxSec: 600, sunPerEnergy: 100n }, 100n)).toMatch(
      /600 s at 100 sun.*NOT_WORTH_RENTING/,
    );
  });

  test('warns the operator of a long row that asks less than half as much per day as a shorter one', () => {
    const slips = (durationMaxSec: number, sunPerEnergy: bigint) =>
      slipsIn({ durationMaxSec, sunPerEnergy }, { unit: 'energy', rows: ROWS }, undefined);
    const day = ROWS.find(({ durationMaxSec }) => durationMaxSec === 86_400)!;
    expect(slips(2 * 86_400, day.sunPerEnergy)).toEqual([]);
    expect(slips(10 * 86_400, 5n * day.sunPerEnergy)).toEqual([]);
    expect(slips(10 * 86_400, 5n * day.sunPerEnergy - 1n)).toEqual([
      expect.stringContaining(`less than half of the ${day.sunPerEnergy.toString()}.00 of 86400 s`),
    ]);
    expect(slips(90 * 86_400, 90n * day.sunPerEnergy)).toEqual([]);
    expect(slips(90 * 86_400 + 1, 90n * day.sunPerEnergy)).toEqual([
      expect.stringContaining('is longer than 7776000 s'),
    ]);
  });

  test('judges a price of bandwidth by other prices of bandwidth and the fee per byte', () => {
    const table = bandwidthTable([
      { durationMaxSec: 600, sunPerEnergy: 38n, sunPerBandwidth: 500n },
      { durationMaxSec: 3600, sunPerEnergy: 45n, sunPerBandwidth: null },
      { durationMaxSec: 86_400, sunPerEnergy: 65n },
    ]);
    expect(table.rows).toEqual([{ durationMaxSec: 600, sunPerEnergy: 500n }]);
    const slips = (sunPerEnergy: bigint) => slipsIn({ durationMaxSec: 3600, sunPerEnergy }, table, 1000n);
    expect(slips(700n)).toEqual([]);
    expect(slips(45n)).toEqual([
      expect.stringContaining('45 sun per bandwidth is less than the price of the shorter row of 600 s'),
      expect.stringContaining('less than a tenth of the chain'),
    ]);
    expect(slips(1000n)).toEqual([expect.stringContaining('3600 s at 1000 sun per bandwidth is not below')]);
  });
});

describe('the price floor', () => {
  const row = { durationMaxSec: 3600, sunPerEnergy: 45n };

  test('is the burn of a delegation and its reclaim, plus a tenth by default', () => {
    expect(priceFloor(1000n, 11_000)).toBe(620_400n);
    // Rounded up: 2 × 282 × 1 × 1 / 10 000.
    expect(priceFloor(1n, 1)).toBe(1n);
    expect(priceFloor(1000n, 0)).toBe(0n);
  });

  test('applies to any amount, however small', () => {
    const floor = priceFloor(1000n, 11_000);
    expect(rentalPrice(energy(1), row, floor)).toBe(floor);
    expect(rentalPrice(energy(13_786), row, floor)).toBe(floor);
    expect(rentalPrice(energy(13_787), row, floor)).toBe(620_415n);
  });

  test('makes small amounts not worth renting, and names the smallest that is', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 10_000_000n }),
        fc.bigInt({ min: 1n, max: 200n }),
        fc.bigInt({ min: 1n, max: 200n }),
        (floor, perEnergy, fee) => {
          const priced = { durationMaxSec: 3600, sunPerEnergy: perEnergy };
          const isWorth = (amount: bigint) =>
            isWorthRenting(rentalPrice(energy(amount), priced, sun(floor)), burnPrice(energy(amount), fee));
          const least = leastWorthRenting(priced, sun(floor), fee);
          if (least === undefined) expect(isWorth(1_000_000_000n)).toBe(false);
          else expect([isWorth(least), least === 1n ? false : isWorth(least - 1n)]).toEqual([true, false]);
        },
      ),
    );
  });

  test('an order uses as many wallets as its price pays for, from one to twenty', () => {
    expect(
      [1n, 620_399n, 620_400n, 1_240_799n, 1_240_800n].map((price) => legsAffordable(sun(price), sun(620_400))),
    ).toEqual([1n, 1n, 1n, 1n, 2n]);
    expect(legsAffordable(sun(10n ** 15n), sun(620_400))).toBe(20n);
    expect(legsAffordable(sun(1), sun(0))).toBe(20n);
  });
});

describe('the arithmetic of a quote', () => {
  const amounts = fc.bigInt({ min: 1n, max: 10_000_000_000_000n });
  const rates = fc.bigInt({ min: 1n, max: 100_000_000_000n });

  test('credits cover the price and never exceed it by a whole credit', () => {
    fc.assert(
      fc.property(amounts, rates, (amount, rate) => {
        const charged = creditsOf(sun(amount), rateE8(rate));
        // sun × rate × 10^7 / (10^6 × 10^8), without dividing.
        const exact = amount * rate;
        const unit = 10_000_000n;
        expect(charged * unit >= exact).toBe(true);
        expect((charged - 1n) * unit < exact).toBe(true);
      }),
    );
  });

  test('rounds dollars half up to the sixth digit', () => {
    fc.assert(
      fc.property(amounts, rates, (amount, rate) => {
        const micros = usdMicros(sun(amount), rateE8(rate));
        const error = 2n * (micros * 100_000_000n - amount * rate);
        expect(error > -100_000_000n && error <= 100_000_000n).toBe(true);
        expect(usdOf(sun(amount), rateE8(rate))).toBe(decimal(micros, 6));
      }),
    );
  });

  test('shows sun as TRX without loss', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }), (amount) => {
        const shown = trxOf(amount);
        expect(shown).toMatch(/^-?\d+\.\d{6}$/);
        expect(BigInt(shown.replace('.', ''))).toBe(amount);
      }),
    );
  });

  test('the margin of a simulation is 10 %, rounded up', () => {
    expect(withMargin(energy(0))).toBe(0n);
    expect(withMargin(energy(1))).toBe(2n);
    expect(withMargin(energy(10))).toBe(11n);
    expect(withMargin(energy(12_841))).toBe(14_126n);
    fc.assert(
      fc.property(amounts, (used) => {
        const needed = withMargin(energy(used));
        expect(needed * 10n >= used * 11n && (needed - 1n) * 10n < used * 11n).toBe(true);
      }),
    );
  });

  test('price and burn are exact products', () => {
    fc.assert(
      fc.property(amounts, fc.bigInt({ min: 1n, max: 1000n }), (amount, perEnergy) => {
        const row = { durationMaxSec: 600, sunPerEnergy: perEnergy };
        expect(rentalPrice(energy(amount), row, sun(0))).toBe(amount * perEnergy);
        expect(burnPrice(energy(amount), perEnergy)).toBe(amount * perEnergy);
      }),
    );
  });

  test('parses a rate exactly or not at all', () => {
    expect(parseRate('0.3')).toBe(30_000_000n);
    expect(parseRate('0.12345678')).toBe(12_345_678n);
    for (const text of ['', '0', '0.0', '-1', '1e3', '.5', '0.123456789', 'NaN', '1,5']) {
      expect(parseRate(text)).toBeUndefined();
    }
  });
});

describe('sizing', () => {
  const figures = { warmEnergy: energy(64_285), coldEnergy: energy(130_285) };

  test.each([
    ['holds tokens', { tokenBalance: 1n, isOnChain: true }, 'warm', false],
    ['holds none', { tokenBalance: 0n, isOnChain: true }, 'cold', false],
    ['is not on chain', { tokenBalance: 0n, isOnChain: false }, 'cold', true],
    ['is not on chain but was sent tokens', { tokenBalance: 5n, isOnChain: false }, 'cold', true],
    ['has an unreadable balance', { tokenBalance: undefined, isOnChain: true }, 'unknown', false],
    ['is unreadable altogether', { tokenBalance: undefined, isOnChain: undefined }, 'unknown', false],
    ['holds tokens, account unreadable', { tokenBalance: 1n, isOnChain: undefined }, 'warm', false],
    ['holds none, account unreadable', { tokenBalance: 0n, isOnChain: undefined }, 'cold', false],
  ] as const)('a receiver that %s', (_, look, state, needsActivation) => {
    expect(recipientOf(look)).toEqual({ state, needsActivation });
  });

  test('uses the warm figure for a warm receiver, and the cold one for all others', () => {
    expect(energyFor('warm', figures)).toBe(64_285n);
    expect(energyFor('cold', figures)).toBe(130_285n);
    expect(energyFor('unknown', figures)).toBe(130_285n);
  });

  test('encodes words as the ABI does', () => {
    expect(addressWord('41681e3bac3840f7840162717c978567c84b38e93c')).toBe(
      '000000000000000000000000681e3bac3840f7840162717c978567c84b38e93c',
    );
    expect(() => addressWord('681e3bac3840f7840162717c978567c84b38e93c')).toThrow(TypeError);
    expect(uintWord(5n)).toBe('5'.padStart(64, '0'));
    expect(firstWord('f4240'.padStart(64, '0'))).toBe(1_000_000n);
    expect(firstWord('ff'.repeat(32))).toBe(2n ** 256n - 1n);
    for (const result of ['', '00', 'zz'.repeat(32), '0'.repeat(63)]) expect(firstWord(result)).toBeUndefined();
  });

  test.each([
    ['the percentage, rounded down', 10n, 10_000_000n, 10_000_000n, 11_556n],
    ['at most its limit', 10n, 500n, 10_000_000n, 500n],
    ['at most its own energy', 10n, 10_000_000n, 77n, 77n],
    ['everything where callers pay nothing', 0n, 10_000_000n, 10_000_000n, 12_841n],
    ['nothing where callers pay everything', 100n, 10_000_000n, 10_000_000n, 0n],
    ['nothing where callers pay more than everything', 101n, 10_000_000n, 10_000_000n, 0n],
    ['nothing without energy', 0n, 10_000_000n, 0n, 0n],
  ])('a deployer pays %s', (_, callerPercent, limit, available, part) => {
    const sharing = { callerPercent, limit, available };
    expect(deployerPart(energy(12_841n), sharing)).toBe(part);
    expect(callerPart(energy(12_841n), sharing)).toBe(12_841n - part);
  });

  describe('a Transfer event proves a transfer', () => {
    const FROM = '41681e3bac3840f7840162717c978567c84b38e93c';
    const TO = '4138664bafb5e610a60e8f8be09a888cd0221c73d7';
    const EVENT = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
    const event = (from: string, to: string, data = uintWord(5n), name = EVENT) => ({ topics: [name, from, to], data });
    const right = event(addressWord(FROM), addressWord(TO));

    test.each([
      ['a single event', [right]],
      ['a transfer reduced by a fee', [event(addressWord(FROM), addressWord(TO), uintWord(1n))]],
      [
        'among other events',
        [{ topics: [], data: '' }, event(addressWord(FROM), addressWord(FROM)), right, { topics: ['aa'], data: 'bb' }],
      ],
      ['with TRON’s prefix in its topics', [event(`${'0'.repeat(22)}${FROM}`, `${'0'.repeat(22)}${TO}`)]],
    ])('%s', (_, logs) => {
      expect(showsTransfer(logs, FROM, TO)).toBe(true);
    });

    test.each([
      ['no event', []],
      ['a transfer of nothing', [event(addressWord(FROM), addressWord(TO), uintWord(0n))]],
      ['a transfer the other way', [event(addressWord(TO), addressWord(FROM))]],
      ['a transfer to another', [event(addressWord(FROM), addressWord(FROM))]],
      ['a transfer from another', [event(addressWord(TO), addressWord(TO))]],
      ['another event', [event(addressWord(FROM), addressWord(TO), uintWord(5n), 'ab'.repeat(32))]],
      ['an amount that is not a word', [event(addressWord(FROM), addressWord(TO), '05')]],
      ['a topic too many', [{ topics: [...right.topics, uintWord(5n)], data: right.data }]],
      ['a topic with more than an address', [event(`1${addressWord(FROM).slice(1)}`, addressWord(TO))]],
    ])('%s does not', (_, logs) => {
      expect(showsTransfer(logs, FROM, TO)).toBe(false);
    });
  });
});

describe('a quote token', () => {
  const sealer = new Sealer({ current: sealKey(master, 'quote') });

  test('opens to exactly the sealed content, and is a valid ref', () => {
    const int64 = fc.bigInt({ min: 1n, max: 2n ** 53n - 1n });
    fc.assert(
      fc.property(int64, int64, int64, int64, fc.nat(2 ** 31 - 1), fc.nat(), (a, b, c, d, duration, later) => {
        const quote = someQuote({
          energy: energy(a),
          priceSun: sun(b),
          credits: credits(c),
          rate: rateE8(d),
          durationSec: duration,
          expiresAtMs: 1_700_000_000_000 + later,
        });
        const ref = sealQuote(sealer, project, quote);
        expect(ref).toMatch(/^[A-Za-z0-9_-]{1,512}$/);
        expect(openQuote(sealer, project, ref)).toEqual(quote);
      }),
    );
  });

  test('has a unique id that sorts after the ids of earlier milliseconds', () => {
    const ids = [0, 1, 1_795_000_000_000, 2 ** 48 - 1].map((nowMs) => newQuoteId(nowMs));
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect([...ids].sort()).toEqual(ids);
    expect(Number.parseInt(ids[2]!.replace('-', '').slice(0, 12), 16)).toBe(1_795_000_000_000);
    const many = Array.from({ length: 10_000 }, () => newQuoteId(1));
    expect(new Set(many).size).toBe(many.length);
  });

  test('is unknown to every other project', () => {
    const ref = sealQuote(sealer, project, someQuote());
    expect(openQuote(sealer, randomUUID(), ref)).toBeUndefined();
    expect(openQuote(sealer, project.toUpperCase(), ref)).toBeDefined();
  });

  test('is unknown under another key, and known under the previous one while that is held', () => {
    const ref = sealQuote(sealer, project, someQuote());
    const newMaster = randomBytes(32);
    expect(openQuote(new Sealer({ current: sealKey(newMaster, 'quote') }), project, ref)).toBeUndefined();
    expect(openQuote(new Sealer({ current: sealKey(master, 'api-key') }), project, ref)).toBeUndefined();
    expect(
      openQuote(new Sealer({ current: sealKey(newMaster, 'quote'), previous: sealKey(master, 'quote') }), project, ref),
    ).toEqual(expect.objectContaining({ durationSec: 3600 }));
  });

  test('is unknown after a change of any character, even of unused bits of the last one', () => {
    const ref = sealQuote(sealer, project, someQuote());
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    for (let at = 0; at < ref.length; at += 1) {
      for (const step of [1, 2, 16, 63]) {
        const changed = alphabet[(alphabet.indexOf(ref[at]!) + step) % 64]!;
        const forged = ref.slice(0, at) + changed + ref.slice(at + 1);
        expect(openQuote(sealer, project, forged)).toBeUndefined();
      }
    }
  });

  test.each([
    ['empty', ''],
    ['too long', 'A'.repeat(513)],
    ['not of the alphabet', 'abc=+/'],
    ['too short to be sealed', 'AQ'],
    ['random', randomBytes(126).toString('base64url')],
  ])('a ref that is %s is unknown, not an error', (_, ref) => {
    expect(openQuote(sealer, project, ref)).toBeUndefined();
  });

  test('rejects padding and the other base64 alphabet for the same bytes', () => {
    const ref = sealQuote(sealer, project, someQuote());
    expect(openQuote(sealer, project, `${ref}=`)).toBeUndefined();
    expect(openQuote(sealer, project, ` ${ref}`)).toBeUndefined();
  });

  test('rejects other content sealed for the same purpose and project', () => {
    const other = sealer.seal(Buffer.from('not a quote'), `quote/${project}`).toString('base64url');
    expect(openQuote(sealer, project, other)).toBeUndefined();
  });
});
