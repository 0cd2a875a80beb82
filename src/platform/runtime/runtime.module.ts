import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Clock } from './clock';
import { CONFIG, type Config } from '../config/config';

/** Provides the settings and the clock to every module. */
@Global()
@Module({})
export class RuntimeModule {
  static forRoot(config: Config, clock: Clock): DynamicModule {
    return {
      module: RuntimeModule,
      providers: [
        { provide: CONFIG, useValue: config },
        { provide: Clock, useValue: clock },
      ],
      exports: [CONFIG, Clock],
    };
  }
}
