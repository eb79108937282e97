// Parsing of a node's answer to a constant call.
import { readCallOutcome } from '../../../src/platform/chain/contract-call.js';
import { NodeError } from '../../../src/platform/chain/errors.js';

const answer = (figures: object, ret: object = {}) =>
  ({ result: { result: true }, constant_result: ['01'], transaction: { ret: [ret] }, ...figures }) as never;

it('reads the energy of a call and the penalty in it', () => {
  expect(readCallOutcome('n', answer({ energy_used: 33_280, energy_penalty: 5439 }))).toEqual({
    kind: 'success',
    energyUsed: 33_280n,
    energyPenalty: 5439n,
    result: '01',
    logs: [],
  });
});

it('reads the events of a call, and skips invalid ones', () => {
  const logs = [
    { address: 'Jzh6mtKQ75yegtmMCgEJKboBx2CXnUpoV', data: '05', topics: ['ab', 'cd'] },
    { address: 'Jzh6mtKQ75yegtmMCgEJKboBx2CXnUpoV' },
    { topics: [7] },
    'none',
  ];
  expect(readCallOutcome('n', answer({ energy_used: 5, logs }))).toMatchObject({
    logs: [
      { topics: ['ab', 'cd'], data: '05' },
      { topics: [], data: '' },
    ],
  });
});

it.each([
  ['a negative amount', { energy_used: -1 }],
  ['a negative penalty', { energy_used: 5, energy_penalty: -1 }],
  ['a penalty above the used energy', { energy_used: 5, energy_penalty: 6 }],
  ['more than the network yields in a day', { energy_used: '9007199254740993' }],
])('rejects an answer with %s', (_what, figures) => {
  for (const ret of [{}, { ret: 'REVERT' }]) {
    expect(() => readCallOutcome('n', answer(figures, ret))).toThrow(NodeError);
  }
});
