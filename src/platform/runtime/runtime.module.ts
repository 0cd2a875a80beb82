import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Registry } from 'prom-client';
import { Clock } from './clock';
import { CONFIG, type Config } from '../config/config';

/** Provides the settings, the clock and a registry for the metrics of extensions to every module. */
@Global()
@Module({})
export class RuntimeModule {
  static forRoot(config: Config, clock: Clock): DynamicModule {
    return {
      module: RuntimeModule,
      providers: [
        { provide: CONFIG, useValue: config },
        { provide: Clock, useValue: clock },
        { provide: Registry, useValue: new Registry() },
      ],
      exports: [CONFIG, Clock, Registry],
    };
  }
}
