import { Inject, Injectable } from '@nestjs/common';
import { PetsService } from '../../../src';

export class UndecoratedService {
  constructor(readonly pets: PetsService) {}
}

/** Without `@`, TypeScript emits no types, as without `emitDecoratorMetadata`. */
export class UntypedService {
  constructor(readonly pets: PetsService) {}
}
Injectable()(UntypedService);

export class UndecoratedGuard {
  constructor(readonly pets: PetsService) {}

  canActivate(): boolean {
    return true;
  }
}

@Injectable()
export class NeedyService {
  constructor(readonly pets: PetsService) {}
}

@Injectable()
export class NeedyOfType {
  constructor(readonly pets: PetsService) {}
}
// `import type` of the class: TypeScript then emits `Function`.
Reflect.defineMetadata('design:paramtypes', [Function], NeedyOfType);

@Injectable()
export class NeedyOfToken {
  constructor(@Inject('TOKEN') readonly token: string) {}
}
