/** Wires the answers to the requests of consoles, for the worker. */
import { Module } from '@nestjs/common';
import { ExplainReadingModule } from './explain-reading.module.js';
import { ExplanationAnswers } from './explanation-answers.js';

@Module({ imports: [ExplainReadingModule], providers: [ExplanationAnswers], exports: [ExplanationAnswers] })
export class ExplainWorkerModule {}
