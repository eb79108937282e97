/**
 * The receivers that control the outcome of test orders (docs/interface.md §32). Each is the hash of its name, so that
 * no private key for it is known: 0x41 and the first 20 bytes of SHA-256 of "tron-energy-rental test address: " and the
 * name.
 */

/** Name → address. A test derives them again. */
export const TEST_ADDRESSES = {
  delivered: 'TCjde3tuj6EM6WbqWPyj2d7uAG4sR6xmKr',
  'delivered late': 'TENuUg1GCwanAD7sctew9MpJYsVPrtHQJW',
  refunded: 'TK5cNhJA2ZoRCcnQAyyxDxcmFUZHyEXsGx',
  'unresolved then delivered': 'TRvBaPxak6jK5Uw6fYFoYdia7LiJd8sQR5',
  'short of capacity': 'TUGbc8msFwzZRhvFDrSHkGrPPnttMs5qLo',
  'not activated': 'TPWjFzKahJYAX7BrTPkVG5icPVe2iVVs7g',
} as const;

export type TestAddressName = keyof typeof TEST_ADDRESSES;

const NAMES: ReadonlyMap<string, TestAddressName> = new Map(
  (Object.keys(TEST_ADDRESSES) as TestAddressName[]).map((name) => [TEST_ADDRESSES[name], name]),
);

/** Returns the name of a test address; undefined for any other address. */
export function testAddressName(address: string): TestAddressName | undefined {
  return NAMES.get(address);
}
