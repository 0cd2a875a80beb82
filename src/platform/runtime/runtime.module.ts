import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Registry } from 'prom-client';
import { Clock } from './clock';
import { CONFIG, type Config } from '../config/config';

export class StoreScopes {
  constructor(
    readonly all: readonly string[],
    /** A new key gets them, unless its creator names others. */
    readonly ofNewKey: readonly string[],
  ) {}
}

@Global()
@Module({})
export class RuntimeModule {
  static forRoot(config: Config, clock: Clock, scopes: StoreScopes): DynamicModule {
    return {
      module: RuntimeModule,
      providers: [
        { provide: CONFIG, useValue: config },
        { provide: Clock, useValue: clock },
        { provide: StoreScopes, useValue: scopes },
        { provide: Registry, useValue: new Registry() },
      ],
      exports: [CONFIG, Clock, StoreScopes, Registry],
    };
  }
}
