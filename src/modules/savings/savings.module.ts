/** Wires the measurement of used energy, for workers. */
import { Module } from '@nestjs/common';
import { RentalUseRecorder } from './rental-use-recorder.js';

@Module({ providers: [RentalUseRecorder], exports: [RentalUseRecorder] })
export class SavingsModule {}
