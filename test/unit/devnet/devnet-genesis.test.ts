// An invalid genesis file is rejected with its error before a chain starts.
import { parseGenesis } from '../../../packages/devnet/src/genesis.js';

const ADDRESS = 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb';
const account = { address: ADDRESS, balance: 5 };
const contract = { origin: ADDRESS, bytecode: '00' };

function withParts(parts: object): string {
  return JSON.stringify({ accounts: [account], ...parts });
}

test('reads a valid genesis to the sun, from numbers or strings', () => {
  const source = `{"timestamp":1767225600000,"accounts":[{"address":"${ADDRESS}","balance":9223372036854775807}],"parameters":{"getEnergyFee":"210"}}`;
  const genesis = parseGenesis(source);
  expect(genesis).toMatchObject({ timestamp: 1_767_225_600_000, parameters: { getEnergyFee: 210n } });
  expect(genesis.accounts).toEqual([{ address: '41' + '00'.repeat(20), balance: 9_223_372_036_854_775_807n }]);
});

test.each([
  ['no json', 'genesis file: is no JSON'],
  ['[]', 'genesis file: must be a JSON object'],
  ['{}', 'genesis accounts: at least one account is needed'],
  [withParts({ accounts: {} }), 'genesis accounts: must be a list'],
  [withParts({ accounts: [{ ...account, address: 'T123' }] }), 'genesis accounts[0].address: T123 is no TRON address'],
  [withParts({ accounts: [{ ...account, balance: -1 }] }), 'genesis accounts[0].balance: -1 is no whole number'],
  [withParts({ accounts: [{ ...account, balance: 1.5 }] }), 'genesis accounts[0].balance: 1.5 is no whole number'],
  [withParts({ accounts: [{ address: ADDRESS }] }), 'genesis accounts[0].balance: is missing'],
  [withParts({ accounts: [account, account] }), 'genesis accounts: an address appears twice'],
  [withParts({ accounts: [{ ...account, balance: '9223372036854775808' }] }), 'is more than 2^63 - 1'],
  [withParts({ parameters: { nonsense: 1 } }), 'genesis parameters.nonsense: is no chain parameter'],
  [withParts({ parameters: [] }), 'genesis parameters: must be an object'],
  [withParts({ version: '4.7.0' }), 'genesis version: 4.7.0 is none of 4.8.0, 4.8.2'],
  [
    withParts({ version: '4.8.0', parameters: { getAllowTvmOsaka: 1 } }),
    'genesis parameters.getAllowTvmOsaka: is no chain parameter of java-tron 4.8.0',
  ],
  [withParts({ timestamp: 'soon' }), 'genesis file.timestamp: soon is no whole number'],
  [withParts({ timestamp: 5 }), 'genesis timestamp: is out of range'],
  [withParts({ contracts: [{ ...contract, origin: undefined }] }), 'genesis contracts[0].origin: is missing'],
  [withParts({ contracts: [{ ...contract, bytecode: 'xyz' }] }), 'genesis contracts[0].bytecode: is no hex'],
  [withParts({ contracts: [{ ...contract, bytecode: undefined }] }), 'genesis contracts[0].bytecode: is missing'],
  [withParts({ contracts: [{ ...contract, storage: { x: '1' } }] }), 'genesis contracts[0].storage'],
  [withParts({ contracts: [{ ...contract, energy_factor: 1_000_001 }] }), 'energy_factor: must be at most 1000000'],
  [withParts({ contracts: [{ ...contract, energy_factor: '3.4' }] }), 'energy_factor: 3.4 is no whole number'],
  [withParts({ contracts: [{ ...contract, owner_key: 'abcd' }] }), 'owner_key: is no private key'],
  [withParts({ contracts: [{ ...contract, owner_key: '00'.repeat(32) }] }), 'owner_key: is no private key'],
])('rejects %s: %s', (source, message) => {
  expect(() => parseGenesis(source)).toThrow(message);
});
