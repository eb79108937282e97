// Causes of a burn by facts alone: nothing is a cause that the facts don't prove.
import { causesOf } from '../../../src/modules/explain/explain-causes.js';
import { txidIn } from '../../../src/modules/explain/explain.dto.js';
import {
  rentalAt,
  type DelegationRecord,
  type ExecutedReport,
  type Facts,
  type Moment,
  type Rental,
} from '../../../src/modules/explain/explain-facts.js';

const SENDER = 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF';
const OTHER = 'TLsV52sRDL79HXGGm9yzwKibb6BeruhUzy';
const BLOCK = 1000;

type Execution = ExecutedReport['execution'];

function reportOf(execution: Partial<Execution> = {}, report: Partial<ExecutedReport> = {}): ExecutedReport {
  const energyBurnSun = execution.energyBurnSun ?? 0n;
  return {
    txid: 'aa',
    kind: 'call',
    owner: SENDER,
    target: OTHER,
    data: '',
    feeLimitSun: 30_000_000n,
    hasMemo: false,
    signatures: 1,
    ...report,
    execution: {
      blockNumber: BLOCK,
      blockTimestampMs: 3_000_000,
      isSolid: true,
      result: 'SUCCESS',
      energy: 64_285n,
      penalty: 49_635n,
      stakedEnergy: 64_285n - energyBurnSun / 100n,
      deployerEnergy: 0n,
      energyBurnSun,
      bandwidth: 345n,
      bandwidthBurnSun: 0n,
      burnSun: energyBurnSun + (execution.bandwidthBurnSun ?? 0n),
      output: '',
      movers: [],
      ...execution,
    },
  };
}

const rental = (changes: Partial<Rental> = {}): Rental => ({
  key: 'k',
  running: 65_000n,
  later: 0n,
  ended: 0n,
  arrivedBlock: undefined,
  endedBlock: undefined,
  isUnknown: false,
  ...changes,
});

const factsOf = (report: ExecutedReport, changes: Partial<Facts> = {}): Facts => ({
  report,
  receiver: SENDER,
  priceSun: 100n,
  rentals: [rental()],
  ...changes,
});

const codes = (facts: Facts): readonly string[] => causesOf(facts).map(({ code }) => code);
const OUT = { result: 'OUT_OF_ENERGY', energy: 10_000n, penalty: 7_000n, stakedEnergy: 10_000n } as const;
const ONE_TRX = { feeLimitSun: 1_000_000n };

describe('the fee limit', () => {
  it.each([
    ['stopped a call that used all it allows', 10_000n, 0n, 100n, ['FEE_LIMIT_TOO_LOW']],
    ['did not stop a call that used less', 9_999n, 0n, 100n, ['ENERGY_ALREADY_USED', 'BALANCE_TOO_LOW']],
    ['is no proven cause where the deployer pays a part', 10_000n, 100n, 100n, ['CAUSE_NOT_PROVEN']],
    ['is no proven cause without the price of energy', 10_000n, 0n, undefined, ['CAUSE_NOT_PROVEN']],
  ] as const)('%s', (_, energy, deployerEnergy, priceSun, expected) => {
    const report = reportOf({ ...OUT, energy, stakedEnergy: energy - deployerEnergy, deployerEnergy }, ONE_TRX);
    expect(codes(factsOf(report, { priceSun }))).toEqual(expected);
  });

  it('is rounded down to whole energy, as the chain does', () => {
    const report = reportOf({ ...OUT, energy: 4_761n, stakedEnergy: 4_761n }, ONE_TRX);
    expect(codes(factsOf(report, { priceSun: 210n }))).toEqual(['FEE_LIMIT_TOO_LOW']);
  });
});

describe('energy that was burnt', () => {
  it('has no proven cause while the rental was enough and nearly all there', () => {
    const report = reportOf({ energyBurnSun: 10_000n });
    expect(codes(factsOf(report))).toEqual(['CAUSE_NOT_PROVEN']);
  });

  it('has no proven cause where it is unknown on which side of a rental the transaction is', () => {
    const report = reportOf({ energyBurnSun: 6_428_500n });
    expect(codes(factsOf(report, { rentals: [rental({ running: 0n, isUnknown: true })] }))).toEqual([
      'CAUSE_NOT_PROVEN',
    ]);
    expect(codes(factsOf(report, { rentals: [] }))).toEqual(['NO_RENTAL']);
  });

  it('blames a later rental only if the running ones were not enough', () => {
    const later = rental({ key: 'l', running: 0n, later: 65_000n, arrivedBlock: BLOCK + 2 });
    const short = reportOf({ energy: 130_285n, penalty: 100_635n, stakedEnergy: 65_000n, energyBurnSun: 6_528_500n });
    expect(codes(factsOf(short, { rentals: [rental(), later] }))).toEqual(['SENT_BEFORE_DELIVERY', 'RENTAL_TOO_SMALL']);
    const used = reportOf({ energyBurnSun: 6_000_000n });
    expect(codes(factsOf(used, { rentals: [rental(), later] }))).toEqual(['ENERGY_ALREADY_USED']);
  });

  it('names the nearest of several later and ended rentals', () => {
    const rentals = [
      rental({ key: 'far', running: 0n, later: 1n, arrivedBlock: BLOCK + 50 }),
      rental({ key: 'near', running: 0n, later: 1n, arrivedBlock: BLOCK + 5 }),
      rental({ key: 'old', running: 0n, ended: 1n, endedBlock: BLOCK - 50 }),
      rental({ key: 'recent', running: 0n, ended: 1n, endedBlock: BLOCK - 5 }),
    ];
    const causes = causesOf(factsOf(reportOf({ energyBurnSun: 6_428_500n }), { rentals }));
    expect(causes.map(({ orderKey }) => orderKey)).toEqual(['near', 'recent']);
  });
});

describe('a recipient', () => {
  const transfer = { recipient: OTHER, toHolder: 14_650n, toOther: 29_650n, dynamicMax: 34_000n };
  const cold = { energy: 130_285n, penalty: 100_635n, stakedEnergy: 65_000n, energyBurnSun: 6_528_500n };

  it('had no token if the transfer used exactly the energy of one to another address', () => {
    expect(codes(factsOf(reportOf(cold), { transfer }))).toEqual(['RECIPIENT_WITHOUT_TOKEN']);
  });

  it.each([
    ['had no token if the call stopped beyond all that a holder needs', 64_460n, 'RECIPIENT_WITHOUT_TOKEN'],
    ['is no proven cause if the call stopped before', 64_459n, 'RENTAL_TOO_SMALL'],
  ] as const)('%s', (_, energy, code) => {
    const stopped = reportOf({ result: 'OUT_OF_ENERGY', energy, stakedEnergy: energy });
    expect(codes(factsOf(stopped, { transfer }))).toEqual([code, 'BALANCE_TOO_LOW']);
  });

  it.each([
    ['the transfer used another energy', { transfer: { ...transfer, toOther: 29_651n } }],
    ['the rental was too small for a holder too', { transfer, rentals: [rental({ running: 60_000n })] }],
    ['nothing was measured', {}],
  ])('is no proven cause if %s', (_, changes) => {
    expect(codes(factsOf(reportOf(cold), changes))).toEqual(['RENTAL_TOO_SMALL']);
  });
});

describe('dynamic energy', () => {
  const dearer = { energy: 64_460n, penalty: 49_810n, stakedEnergy: 50_000n, energyBurnSun: 1_446_000n };
  const rentals = [rental({ running: 50_000n })];
  const before = { blockNumber: 900, energy: 43_950n, penalty: 29_300n };

  it('rose if the rental would have been enough at the surcharge of the delivery', () => {
    expect(codes(factsOf(reportOf(dearer), { rentals, surcharge: before }))).toEqual(['DYNAMIC_ENERGY_RISEN']);
  });

  it.each([
    ['it did not rise', { ...before, energy: 64_460n, penalty: 49_810n }],
    ['the rental was too small before too', { ...before, energy: 52_000n, penalty: 37_350n }],
  ])('is no proven cause if %s', (_, surcharge) => {
    expect(codes(factsOf(reportOf(dearer), { rentals, surcharge }))).toEqual(['RENTAL_TOO_SMALL']);
  });
});

describe('several causes', () => {
  it('are listed with a failure first, then by the TRX that they burnt', () => {
    const execution = { result: 'REVERT', energyBurnSun: 200_000n, bandwidthBurnSun: 345_000n, burnSun: 1_545_000n };
    const report = reportOf(execution, { hasMemo: true });
    expect(codes(factsOf(report, { rentals: [] }))).toEqual([
      'CALL_REVERTED',
      'OTHER_FEES_BURNT',
      'BANDWIDTH_BURNT',
      'NO_RENTAL',
    ]);
  });

  it('do not count the fee of a memo as an activation', () => {
    const report = reportOf({ energy: 0n, penalty: 0n, stakedEnergy: 0n, burnSun: 1_000_000n }, { kind: 'transfer' });
    expect(codes(factsOf(report))).toEqual(['ACTIVATION_BURNT']);
    expect(codes(factsOf({ ...report, hasMemo: true }))).toEqual(['OTHER_FEES_BURNT']);
    expect(codes(factsOf({ ...report, signatures: 2 }))).toEqual(['OTHER_FEES_BURNT']);
  });
});

describe('a rental', () => {
  const at: Moment = { blockNumber: BLOCK, txid: 'me', timestampMs: 3_000_000 };
  const place = (blockNumber: number, txid = 'd') => ({ blockNumber, txid });
  const whole: DelegationRecord = {
    energy: 5n,
    begun: place(BLOCK - 1),
    afterBlock: BLOCK - 3,
    ended: undefined,
    endedAtMs: undefined,
  };
  const phase = (changes: Partial<DelegationRecord>, moment: Partial<Moment> = {}) => {
    const { running, later, ended, isUnknown } = rentalAt(
      { key: 'k', delegations: [{ ...whole, ...changes }] },
      { ...at, ...moment },
    );
    return isUnknown ? 'unknown' : running > 0n ? 'running' : later > 0n ? 'later' : ended > 0n ? 'ended' : 'none';
  };

  it.each([
    ['begun in an earlier block', {}, {}, 'running'],
    ['begun in a later block', { begun: place(BLOCK + 1) }, {}, 'later'],
    ['begun in the same block, in unknown order', { begun: place(BLOCK) }, {}, 'unknown'],
    ['begun in the same block, before', { begun: place(BLOCK) }, { block: ['d', 'me'] }, 'running'],
    ['begun in the same block, after', { begun: place(BLOCK) }, { block: ['me', 'd'] }, 'later'],
    ['in no block, sent after the transaction', { begun: undefined, afterBlock: BLOCK }, {}, 'later'],
    ['in no block, perhaps sent before', { begun: undefined }, {}, 'unknown'],
    ['not built', { begun: undefined, afterBlock: undefined }, {}, 'later'],
    ['reclaimed in an earlier block', { ended: place(BLOCK - 1, 'r') }, {}, 'ended'],
    ['reclaimed in a later block', { ended: place(BLOCK + 1, 'r') }, {}, 'running'],
    ['reclaimed in the same block, before', { ended: place(BLOCK, 'r') }, { block: ['r', 'me'] }, 'ended'],
    ['reclaimed in the same block, after', { ended: place(BLOCK, 'r') }, { block: ['me', 'r'] }, 'running'],
    ['ended by others before, by the chain’s time', { endedAtMs: 2_999_999 }, {}, 'ended'],
    ['ended by others after', { endedAtMs: 3_000_001 }, {}, 'running'],
    ['ended by others in the same block', { endedAtMs: 3_000_000 }, {}, 'unknown'],
  ] as const)('%s', (_, changes, moment, expected) => {
    expect(phase(changes, moment)).toBe(expected);
  });
});

describe('a transaction id', () => {
  it('is 64 hex digits in either case, without 0x', () => {
    expect(txidIn('AB'.repeat(32))).toBe('ab'.repeat(32));
    for (const text of ['', '0x', `0x${'a'.repeat(62)}`, 'a'.repeat(63), `${'a'.repeat(64)}\n`, 'ａ'.repeat(64)]) {
      expect(() => txidIn(text)).toThrow('txid: must be 64 hex digits');
    }
  });
});
