// Compares the expiration of our transactions with the limit of the signer, which would refuse every one of them.
import { StartError } from '../../domain/errors.js';
import type { Signer } from '../../platform/chain/keys.js';
import { SignerRefusedError, SignerUnavailableError, SocketSigner } from '../../platform/chain/socket-signer.js';

export const EXPIRATION_REMEDY = 'Lower TRON_EXPIRATION_SEC, or raise SIGNER_EXPIRATION_MAX_SEC and restart the signer';

/**
 * Returns the fault, if there is one. Returns undefined also without a signer process, and if the signer does not tell
 * its limit. Throws SignerUnavailableError and SignerRefusedError.
 */
export async function expirationFault(signer: Signer, expirationSec: number): Promise<string | undefined> {
  const maxSec = signer instanceof SocketSigner ? await signer.expirationMaxSec() : undefined;
  if (maxSec === undefined || expirationSec <= maxSec) return undefined;
  const limit = `SIGNER_EXPIRATION_MAX_SEC (${maxSec.toString()})`;
  return `TRON_EXPIRATION_SEC (${expirationSec.toString()}) exceeds ${limit}, so the signer signs nothing`;
}

/** Throws StartError if the signer would refuse every transaction. Does nothing if the signer does not answer. */
export async function assertExpiration(signer: Signer, expirationSec: number): Promise<void> {
  const fault = await expirationFault(signer, expirationSec).catch((error: unknown) => {
    if (error instanceof SignerUnavailableError || error instanceof SignerRefusedError) return undefined;
    throw error;
  });
  if (fault !== undefined) throw new StartError('CONFIGURATION', `${fault}. ${EXPIRATION_REMEDY}.`);
}
