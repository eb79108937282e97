/**
 * The console process of one audience: sign-in, and the reads and acts that roles allow. It signs and sends nothing,
 * and holds only the key of second factors. It reads the database as its audience's role.
 */
import { Global, Module, type DynamicModule } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { Sealers } from '../../platform/support/sealers.js';
import { Config } from '../../platform/config/config.js';
import { ConsoleConfig } from '../../platform/config/console-config.js';
import { AddressProofs } from '../../modules/console/address-proofs.js';
import { AuthorityGuard } from '../../modules/console/authority.guard.js';
import { ConsoleDataModule } from '../../modules/console/data.module.js';
import { GuessPruning } from '../../modules/console/guess-pruning.js';
import { InvitationsController } from '../../modules/console/invitations.controller.js';
import { PersonBudget } from '../../modules/console/person-budget.js';
import { PeopleController } from '../../modules/console/people.controller.js';
import { SecurityController } from '../../modules/console/security.controller.js';
import { SessionAnswers } from '../../modules/console/session-answer.js';
import { SessionStreams } from '../../modules/console/session-streams.js';
import { SignInController } from '../../modules/console/sign-in.controller.js';
import { TeamAnswers } from '../../modules/console/team-answers.js';
import { TeamController } from '../../modules/console/team.controller.js';
import { invariant } from '../../domain/errors.js';
import { SaleBounds } from '../../platform/http/body/member-rules.js';
import { Log } from '../../platform/observability/logger.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { Guesses } from '../../modules/people/guesses.js';
import { Passwords } from '../../modules/people/passwords.js';
import { PeopleModule } from '../../modules/people/people.module.js';
import { Security } from '../../modules/people/security.js';
import { SignIn } from '../../modules/people/sign-in.js';
import { Database } from '../../platform/database/database.js';
import { openDatabase } from '../../platform/database/open-database.js';
import { ProjectDatabase } from '../../platform/database/project-scope.js';
import { PublicSealers } from '../../platform/database/public-sealers.js';
import { Replica } from '../../platform/database/replica.js';

/** The connections of a console, opened once and closed last. */
@Global()
@Module({})
class ConsolePlatformModule {
  static for(config: ConsoleConfig, log: Log): DynamicModule {
    const sealers = new Sealers(config.secrets);
    return {
      module: ConsolePlatformModule,
      imports: [
        TypeOrmModule.forRootAsync({
          useFactory: () => ({ retryAttempts: 0 }),
          dataSourceFactory: () => openDatabase(config.database, { role: `console-${config.audience}`, sealers, log }),
        }),
      ],
      providers: [
        { provide: ConsoleConfig, useValue: config },
        // Services of the commands inject Config, and use only sections that a console also has.
        { provide: Config, useExisting: ConsoleConfig },
        {
          provide: Database,
          useFactory: (source: DataSource) => new ProjectDatabase(source),
          inject: [DataSource],
        },
        {
          provide: Sealers,
          useFactory: (database: Database) => new PublicSealers(() => database, config.secrets),
          inject: [Database],
        },
        { provide: Log, useValue: log },
        Metrics,
        Replica,
      ],
      exports: [ConsoleConfig, Config, Database, Replica, Sealers, Log, Metrics],
    };
  }
}

@Module({})
export class ConsoleModule {
  static for(config: ConsoleConfig, log: Log): DynamicModule {
    const own = [SignInController, InvitationsController, SecurityController, TeamController];
    return {
      module: ConsoleModule,
      imports: [ConsolePlatformModule.for(config, log), PeopleModule, ConsoleDataModule.for(config.audience)],
      controllers: config.audience === 'operator' ? [...own, PeopleController] : own,
      providers: [
        { provide: APP_GUARD, useClass: AuthorityGuard },
        { provide: Passwords, useFactory: () => new Passwords(config.passwordCostLog2) },
        {
          provide: Guesses,
          useFactory: (database: Database) => new Guesses(database, keyOf(config)),
          inject: [Database],
        },
        // No request of a console depends on the durations on sale.
        { provide: SaleBounds, useValue: { longestSec: undefined } },
        AddressProofs,
        GuessPruning,
        PersonBudget,
        Security,
        SessionAnswers,
        SessionStreams,
        SignIn,
        TeamAnswers,
      ],
    };
  }
}

function keyOf({ secrets }: ConsoleConfig): Buffer {
  const keys = secrets.sealKeys.get('second-factor');
  invariant(keys !== undefined, 'the settings of a console hold its key');
  return keys.current;
}
