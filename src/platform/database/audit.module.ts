/** Wires the reading of the audit log; `recordAct` writes it in the transaction of each act. */
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditLog } from './audit-log.js';
import { AuditEntry } from './entities/audit-entry.entity.js';

@Module({ imports: [TypeOrmModule.forFeature([AuditEntry])], providers: [AuditLog], exports: [AuditLog] })
export class AuditModule {}
