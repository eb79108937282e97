// Judging the permission of a wallet's hot key: it must be able to act alone, and only within its role.
import { sun } from '../../../src/domain/units.js';
import { judgePermission, operationsOf, type WalletRole } from '../../../src/modules/pool/wallet-permission.js';
import type { ChainAccount, Permission } from '../../../src/platform/chain/tron.client.js';

const OWN = 'TWd4WrZ9wn84f5x1hZhL4DHvk738ns5jwb';
const KEY = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t';
const NOTHING = sun(0);

const account = (...permissions: readonly Permission[]): ChainAccount => ({
  address: OWN,
  isContract: false,
  balanceSun: NOTHING,
  stakedForEnergySun: NOTHING,
  delegatedEnergySun: NOTHING,
  stakedForBandwidthSun: NOTHING,
  delegatedBandwidthSun: NOTHING,
  permissions,
});

const active = (more: Partial<Permission> = {}): Permission => ({
  ...{ id: 2, name: 'hot', threshold: 1n, operations: operationsOf('pool'), keys: [{ address: KEY, weight: 1n }] },
  ...more,
});

const judged = (permission: Permission, role: WalletRole = 'pool') =>
  judgePermission(account(permission), 2, KEY, role);

it('a key suits if it acts alone, with exactly the operations of its role', () => {
  expect(judged(active())).toEqual({ kind: 'exact' });
  expect(judged(active({ operations: operationsOf('activation') }), 'activation')).toEqual({ kind: 'exact' });
  expect(judged(active(), 'activation')).toMatchObject({ kind: 'narrow' });
  expect(judged(active({ threshold: 3n, keys: [{ address: KEY, weight: 3n }] }))).toEqual({ kind: 'exact' });
});

it('a key whose weight is below the threshold cannot act alone', () => {
  const keys = [
    { address: KEY, weight: 1n },
    { address: OWN, weight: 1n },
  ];
  expect(judged(active({ threshold: 2n, keys }))).toEqual({
    kind: 'key',
    says: 'gives the key weight 1, but permission 2 requires 2',
  });
});

it('the owner permission is too wide, and only the own key of an unchanged account holds it', () => {
  expect(judgePermission(account(), 0, OWN, 'pool')).toMatchObject({ kind: 'wide' });
  expect(judgePermission(account(), 0, KEY, 'pool')).toMatchObject({ kind: 'key' });
  expect(judgePermission(account(), 2, OWN, 'pool')).toMatchObject({ kind: 'missing' });
});
