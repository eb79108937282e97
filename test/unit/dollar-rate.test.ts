import { lookAtDollarRate } from '../../src/diagnostics/doctor-deposits.js';

const stateOf = (...names: string[]) => lookAtDollarRate(names).map(({ state }) => state);

describe('the exchanges that give USDT a rate', () => {
  it.each([[['bybit', 'kucoin', 'gate']], [['binance']], [['okx', 'bybit', 'kucoin']], [['okx', 'okx']]])(
    'are too few in %j, which the doctor says with the remedy',
    (names) => {
      const [finding] = lookAtDollarRate(names);
      expect(finding).toMatchObject({
        state: 'fault',
        todo: expect.stringContaining('coinbase, kraken, okx') as string,
      });
    },
  );

  it('are enough where two trade it against dollars', () => {
    expect(stateOf('binance', 'kraken', 'okx')).toEqual(['ok']);
    expect(stateOf('coinbase', 'kraken', 'okx')).toEqual(['ok']);
  });

  it('are not asked for where the rate is set by hand', () => {
    expect(stateOf('static')).toEqual([]);
  });
});
