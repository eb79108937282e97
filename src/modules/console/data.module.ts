/**
 * Wires the routes for projects' data: the services of the commands, and the console's controllers. Needs
 * ConsoleConfig, Config, Sealers and Database from the platform; in a console these are PublicSealers and
 * ProjectDatabase.
 */
import { Module, type DynamicModule } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { Audience } from '../../domain/audience.js';
import { AutoDelegations } from '../auto-delegations/auto-delegations.service.js';
import { BillingModule } from '../billing/billing.module.js';
import { NodePool } from '../../platform/chain/node-pool.js';
import { TronClient } from '../../platform/chain/tron.client.js';
import { DepositAddressesModule } from '../deposits/deposit-addresses.module.js';
import { HeldDeposits } from '../deposits/held-deposits.js';
import { RateHistory } from '../deposits/rate-history.js';
import { EventLog } from '../events/event-log.js';
import { ExplanationRequests } from '../explain/explanation-requests.js';
import { Digests } from '../notifications/digests.js';
import { MailClaims } from '../notifications/mail-claims.js';
import { AddressMails } from '../notifications/address-mails.js';
import { MailRefusals } from '../notifications/mail-refusals.js';
import { MailTokens } from '../notifications/mail-tokens.js';
import { Mailer } from '../notifications/mailer.js';
import { NotificationChoices } from '../notifications/notification-choices.js';
import { OrderHistoryModule } from '../orders/order-history.module.js';
import { PurchaseOutcomes } from '../orders/purchase-outcomes.js';
import { PurchaseQueue } from '../orders/purchase-queue.js';
import { ReceiverCheck } from '../orders/receiver.js';
import { StatementRepeater } from '../orders/statement-repeater.js';
import { PeopleModule } from '../people/people.module.js';
import { ProjectsModule } from '../projects/projects.module.js';
import { PricesModule } from '../quotes/prices.module.js';
import { AuditModule } from '../../platform/database/audit.module.js';
import { AutoDelegation } from '../../platform/database/entities/auto-delegation.entity.js';
import { ExplainedFinding } from '../../platform/database/entities/explained-finding.entity.js';
import { SalesStop } from '../../platform/database/entities/sales-stop.entity.js';
import { WebhookEndpoint } from '../../platform/database/entities/webhook-endpoint.entity.js';
import { ReportsModule } from '../reports/reports.module.js';
import { RequestHistoryModule } from '../requests/request-history.module.js';
import { SalesHold } from '../pool/sales-hold.js';
import { StatementsModule } from '../statements/statements.module.js';
import { WebhookDeliveries } from '../webhooks/webhook-deliveries.js';
import { Webhooks } from '../webhooks/webhooks.js';
import { AccessAudit } from './access-audit.js';
import { AuditController } from './audit.controller.js';
import { AuditList } from './audit-list.js';
import { AutoDelegationAnswers } from './auto-delegation-answers.js';
import { AutoDelegationPagesController } from './auto-delegations.controller.js';
import { ConsolePurchases } from './console-purchases.js';
import { CreditRequestLines } from './credit-request-lines.js';
import { CreditsController } from './credits.controller.js';
import { CsvAnswers } from './csv-answers.js';
import { DepositDecisions } from './deposit-decisions.js';
import { DepositDecisionsController } from './deposit-decisions.controller.js';
import { GoLiveController } from './go-live.controller.js';
import { GoLiveSteps } from './go-live.js';
import { OperatorExplanationsController, ProjectExplanationsController } from './explanations.controller.js';
import { HomeController } from './home.controller.js';
import { MailLoop } from './mail-loop.js';
import { MerchantHomes } from './home.service.js';
import { KeyUses } from './key-uses.js';
import { KeysController } from './keys.controller.js';
import { NotificationsController } from './notifications.controller.js';
import { OperationsController } from './operations.controller.js';
import { Operations } from './operations.service.js';
import { OrderRecordReader } from './order-records.js';
import { OrdersController } from './orders.controller.js';
import { PlaygroundController } from './playground.controller.js';
import { PricePreviews } from './price-preview.js';
import { PricesController } from './prices.controller.js';
import { ProjectScopeInterceptor } from './project-scope.interceptor.js';
import { ProjectSettingsController } from './project-settings.controller.js';
import { ProjectsController } from './projects.controller.js';
import { PurchasesController } from './purchases.controller.js';
import { PurchasePreviews } from './purchase-previews.js';
import { RecordsController } from './records.controller.js';
import { SaleRecords } from './sale-records.js';
import { OperatorSearchController, ProjectSearchController } from './search.controller.js';
import { Search } from './search.service.js';
import { SourcesController } from './sources.controller.js';
import { SpanFigures } from './span-figures.js';
import { StatementPagesController } from './statements.controller.js';
import { SystemController } from './system.controller.js';
import { System } from './system.service.js';
import { TopUpController } from './top-up.controller.js';
import { TopUp } from './top-up.service.js';
import { OfflineReceiverCheck } from './offline-receiver-check.js';
import { Unsubscriptions } from './unsubscriptions.js';
import { WebhookPagesController } from './webhooks.controller.js';

const FOR_BOTH = [
  AutoDelegationPagesController,
  GoLiveController,
  HomeController,
  KeysController,
  NotificationsController,
  OrdersController,
  PlaygroundController,
  ProjectExplanationsController,
  ProjectSearchController,
  ProjectSettingsController,
  RecordsController,
  SourcesController,
  StatementPagesController,
  TopUpController,
  WebhookPagesController,
];
const FOR_MERCHANTS = [PurchasesController];
const FOR_OPERATORS = [
  AuditController,
  CreditsController,
  DepositDecisionsController,
  OperationsController,
  OperatorExplanationsController,
  OperatorSearchController,
  PricesController,
  ProjectsController,
  SystemController,
];

/** A console sends no node requests: it has no head and uses the database's clock. */
const HEAD_EVERY_MS = 60_000;

@Module({})
export class ConsoleDataModule {
  static for(audience: Audience): DynamicModule {
    return {
      module: ConsoleDataModule,
      imports: [
        AuditModule,
        BillingModule,
        DepositAddressesModule,
        OrderHistoryModule,
        PeopleModule,
        PricesModule,
        ProjectsModule,
        ReportsModule,
        RequestHistoryModule,
        StatementsModule,
        TypeOrmModule.forFeature([AutoDelegation, ExplainedFinding, SalesStop, WebhookEndpoint]),
      ],
      controllers: [...FOR_BOTH, ...(audience === 'operator' ? FOR_OPERATORS : FOR_MERCHANTS)],
      providers: [
        AccessAudit,
        { provide: APP_INTERCEPTOR, useClass: ProjectScopeInterceptor },
        { provide: ReceiverCheck, useClass: OfflineReceiverCheck },
        { provide: TronClient, useFactory: () => new TronClient(new NodePool([], HEAD_EVERY_MS)) },
        AddressMails,
        AuditList,
        AutoDelegationAnswers,
        AutoDelegations,
        CreditRequestLines,
        ConsolePurchases,
        CsvAnswers,
        DepositDecisions,
        EventLog,
        ExplanationRequests,
        Digests,
        GoLiveSteps,
        HeldDeposits,
        KeyUses,
        MailClaims,
        Mailer,
        MailLoop,
        MailRefusals,
        MailTokens,
        MerchantHomes,
        NotificationChoices,
        Operations,
        OrderRecordReader,
        SpanFigures,
        PricePreviews,
        PurchaseOutcomes,
        PurchasePreviews,
        PurchaseQueue,
        RateHistory,
        SaleRecords,
        SalesHold,
        Search,
        StatementRepeater,
        System,
        TopUp,
        Unsubscriptions,
        WebhookDeliveries,
        Webhooks,
      ],
      exports: [AccessAudit, AddressMails, MailRefusals, MailTokens],
    };
  }
}
