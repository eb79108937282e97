/** Wires what signs for the pool, in the worker alone. */
import { Module } from '@nestjs/common';
import { Sealers } from '../base/sealers.js';
import { Signer } from '../chain/keys.js';
import { SocketSigner } from '../chain/socket-signer.js';
import { Config } from '../config/config.js';
import { Database } from '../store/database.js';
import { Keyring } from './keyring.js';

/** The signer process where the settings name its socket; otherwise the keys sealed in Postgres. */
function createSigner({ secrets }: Config, database: Database, sealers: Sealers): Signer {
  return secrets.signerSocket === undefined ? new Keyring(database, sealers) : new SocketSigner(secrets.signerSocket);
}

@Module({
  providers: [{ provide: Signer, useFactory: createSigner, inject: [Config, Database, Sealers] }],
  exports: [Signer],
})
export class SigningModule {}
