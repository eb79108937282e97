import { checkDollarRate } from '../../../src/modules/diagnostics/doctor-deposits.js';

const stateOf = (...names: string[]) => checkDollarRate(names).map(({ state }) => state);

describe('the exchanges that give USDT a rate', () => {
  it.each([[['bybit', 'kucoin', 'gate']], [['binance']], [['okx', 'bybit', 'kucoin']], [['okx', 'okx']]])(
    'are too few in %j: the doctor says so, with the remedy',
    (names) => {
      const [finding] = checkDollarRate(names);
      expect(finding).toMatchObject({
        state: 'fault',
        todo: expect.stringContaining('coinbase, kraken, okx') as string,
      });
    },
  );

  it('are enough if two of them trade it against dollars', () => {
    expect(stateOf('binance', 'kraken', 'okx')).toEqual(['ok']);
    expect(stateOf('coinbase', 'kraken', 'okx')).toEqual(['ok']);
  });

  it('are not required if the rate is set manually', () => {
    expect(stateOf('static')).toEqual([]);
  });
});
