// Stands for '@jest/globals', which works in Jest's module registry only.
import { ModuleMocker } from 'jest-mock';

const mocker = new ModuleMocker(globalThis);

export const jest = {
  spyOn: mocker.spyOn.bind(mocker),
  restoreAllMocks: () => mocker.restoreAllMocks(),
  setTimeout: (limitMs) => (globalThis[Symbol.for('TEST_TIMEOUT_SYMBOL')] = limitMs),
};
